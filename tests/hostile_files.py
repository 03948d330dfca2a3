"""Tables as users have them, each in a file that is named after what is wrong with it.

``READ`` are files that must be read, with what pandas has to be told to read them too; ``REFUSED`` are files that must
be refused, with words of the error. All of the first kind hold the same table, as far as their name does not say
otherwise.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

ROWS = 40


def table() -> pd.DataFrame:
    """The table that the files hold: a real number, a count, a colour, a flag, and the class."""
    rng = np.random.default_rng(5)
    y = rng.choice(["ja", "nein"], ROWS)
    return pd.DataFrame(
        {
            "weight": (rng.normal(50, 10, ROWS) + 9 * (y == "ja")).round(2),
            "visits": rng.poisson(3, ROWS) + 2,
            "colour": rng.choice(["rot", "grün", "blau"], ROWS),
            "flag": rng.integers(0, 2, ROWS),
            "class": y,
        }
    )


@dataclass(frozen=True)
class File:
    """A file, what the command has to be told of it, and what pandas has to be told to read the same table."""

    data: bytes
    suffix: str = ".csv"
    options: tuple[str, ...] = ()
    pandas: dict[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    target: str = "class"


def text(frame: pd.DataFrame | None = None, sep: str = ",", **how: Any) -> str:
    """A frame as CSV."""
    return (table() if frame is None else frame).to_csv(sep=sep, index=how.pop("index", False), **how)


def cells(column: str, change: Callable[[Any], str], every: int = 1) -> pd.DataFrame:
    """The table with some cells of a column written otherwise."""
    frame = table().astype({column: object})
    frame.loc[::every, column] = [change(value) for value in frame[column][::every]]
    return frame


def quoted(column: str, change: Callable[[Any], str]) -> bytes:
    return text(cells(column, change)).encode()


def excel(frame: pd.DataFrame, sheet: str = "Sheet1") -> bytes:
    """A frame as the second sheet of an Excel file; nothing where Excel files are neither written nor read."""
    if find_spec("openpyxl") is None or find_spec("python_calamine") is None:
        return b""
    out = io.BytesIO()
    with pd.ExcelWriter(out) as writer:
        pd.DataFrame({"note": ["nothing here"]}).to_excel(writer, sheet_name="Notes", index=False)
        frame.to_excel(writer, sheet_name=sheet, index=False)
    return out.getvalue()


def _read() -> dict[str, File]:
    plain = text()
    _, _, body = plain.partition("\n")
    german = text(sep=";", decimal=",")
    short = "\n".join(plain.splitlines()[:4]) + "\n"
    files = {
        "nothing is wrong": File(plain.encode()),
        "semicolons and decimal commas": File(german.encode(), pandas={"sep": ";", "decimal": ","}),
        "semicolons and decimal points": File(text(sep=";").encode(), pandas={"sep": ";"}),
        "tabs in a csv": File(text(sep="\t").encode(), pandas={"sep": "\t"}),
        "tabs in a tsv": File(text(sep="\t").encode(), ".tsv", pandas={"sep": "\t"}),
        "bars": File(text(sep="|").encode(), ".txt", pandas={"sep": "|"}),
        "tildes, told with --sep": File(text(sep="~").encode(), options=("--sep", "~"), pandas={"sep": "~"}),
        "blanks between cells, told with --sep": File(
            text(sep=" ").encode(), ".dat", ("--sep", " "), pandas={"sep": " "}
        ),
        "gzip": File(gzip.compress(plain.encode()), ".csv.gz", pandas={"compression": "gzip"}),
        "gzip without a suffix of gzip": File(gzip.compress(plain.encode()), pandas={"compression": "gzip"}),
        "windows-1252": File(plain.encode("cp1252"), pandas={"encoding": "cp1252"}),
        "latin-1 of the mainframe, told with --encoding": File(
            plain.encode("cp500"), options=("--encoding", "cp500"), pandas={"encoding": "cp500"}
        ),
        "utf-16 with a mark": File(plain.encode("utf-16"), pandas={"encoding": "utf-16"}),
        "utf-16 without a mark": File(plain.encode("utf-16-le"), pandas={"encoding": "utf-16-le"}),
        "utf-16 in gzip, of tabs": File(
            gzip.compress(text(sep="\t").encode("utf-16")),
            pandas={"sep": "\t", "encoding": "utf-16", "compression": "gzip"},
        ),
        "utf-8 with a mark": File(plain.encode("utf-8-sig"), pandas={"encoding": "utf-8-sig"}),
        "line ends of windows": File(plain.replace("\n", "\r\n").encode()),
        "line ends of an old mac": File(plain.replace("\n", "\r").encode()),
        "no line end at the end": File(plain.rstrip("\n").encode()),
        "blank lines": File(plain.replace("\n", "\n\n").encode()),
        "no header": File(body.encode(), pandas={"header": None}, target="column4"),
        "no header, told": File(body.encode(), options=("--no-header",), pandas={"header": None}, target="column4"),
        "years as names, told with --header": File(
            text(table().rename(columns={"weight": "2019", "visits": "2020", "flag": "2021"})).encode(),
            options=("--header",),
        ),
        "names of numbers, told with --header": File(
            text(table().rename(columns={"weight": "17.5", "visits": "4", "colour": "rot"})).encode(),
            options=("--header",),
        ),
        "a title before the header": File(f"Patients of 2024\n\n{plain}".encode(), pandas={"skiprows": 2}),
        "comments before the header": File(f"# by me, today\n# more\n{plain}".encode(), pandas={"skiprows": 2}),
        "the separator said by excel": File(
            f"sep=;\n{german}".encode(), pandas={"sep": ";", "decimal": ",", "skiprows": 1}
        ),
        "an index without a name": File(text(index=True).encode()),
        "a separator at the end of each line": File(plain.replace("\n", ",\n").encode()),
        "all cells in quotes": File(text(quoting=1).encode()),
        "line ends and separators in quotes": File(text(cells("colour", lambda v: f'{v}, "dark"\nor so')).encode()),
        "gaps as NA, null and nothing": File(
            text(cells("weight", lambda _: "NA", 5).assign(flag=["", *["1", "0"] * 19, "null"])).encode(),
            pandas={"dtype": {"flag": "Int64"}},
        ),
        "gaps as question marks among numbers": File(
            text(cells("weight", lambda _: "?", 7)).encode(), pandas={"na_values": "?"}
        ),
        "gaps as hyphens among counts": File(
            text(cells("visits", lambda _: "-", 7)).encode(), pandas={"na_values": "-"}
        ),
        "gaps as blanks among numbers": File(
            text(cells("weight", lambda _: "  ", 7)).encode(), pandas={"na_values": "  "}
        ),
        "question marks among colours are a level": File(text(cells("colour", lambda _: "?", 7)).encode()),
        "question marks among colours, told with --na": File(
            text(cells("colour", lambda _: "?", 7)).encode(), options=("--na", "?"), pandas={"na_values": "?"}
        ),
        "missing as -999, told with --na": File(
            text(cells("visits", lambda _: "-999", 7)).encode(), options=("--na", "-999"), pandas={"na_values": "-999"}
        ),
        "percent signs": File(quoted("weight", lambda v: f"{v}%"), pandas={"converters": {"weight": _of_percent}}),
        "thousands in groups": File(quoted("weight", lambda v: f"{1000 * v:,.2f}"), pandas={"thousands": ","}),
        "decimal commas in quotes": File(quoted("weight", lambda v: str(v).replace(".", ",")), pandas={"decimal": ","}),
        "thousands in groups of points": File(
            german.replace(",", ",").replace(";2;", ";2.000;").encode(),
            pandas={"sep": ";", "decimal": ",", "thousands": "."},
        ),
        "decimal commas that look like thousands, told with --decimal": File(
            quoted("weight", lambda v: f"{v:.3f}".replace(".", ",")),
            options=("--decimal", ","),
            pandas={"decimal": ","},
        ),
        "zeros and ones with gaps": File(
            text(cells("flag", lambda _: "", 6)).encode(), pandas={"dtype": {"flag": "Int64"}}
        ),
        "whole numbers beyond 64 bits": File(
            quoted("visits", lambda v: str(v + 10**22)), pandas={"dtype": {"visits": "float64"}}
        ),
        "blanks around numbers": File(quoted("weight", lambda v: f"  {v} ")),
        "a plus before numbers": File(quoted("visits", lambda v: f"+{v}")),
        "codes that begin with zeros": File(quoted("visits", lambda v: f"00{v}"), pandas={"dtype": {"visits": "str"}}),
        "true and false in capitals": File(text(table().assign(flag=["TRUE", "FALSE"] * 20)).encode()),
        "dates": File(text(cells("colour", lambda v: f"2024-0{len(v)}-1{len(v)}")).encode()),
        "names with blanks and odd letters": File(
            text(
                table().rename(columns={"weight": "wei,ght (kg)", "visits": "visits=n", "colour": "größe\tx"})
            ).encode()
        ),
        "text after thousands of numbers": File(
            text(pd.concat([table()] * 100).assign(visits=[*range(3999), "late"])).encode()
        ),
        "a quote for the first time after many rows": File(
            text(pd.concat([table()] * 600).assign(colour=["rot"] * 23_999 + ['blau, "dunkel"'])).encode()
        ),
        "only three rows": File(short.encode()),
    }
    if sheet := excel(table(), "Data"):
        told = {"engine": "calamine", "sheet_name": "Data"}
        files["excel, its second sheet, told with --sheet"] = File(sheet, ".xlsx", ("--sheet", "Data"), told)
    return files


def _of_percent(cell: str) -> float:
    return float(cell.rstrip("%"))


READ = _read()

REFUSED = {
    "an empty file": File(b"", said=("is empty",)),
    "only blank lines": File(b"\n \n\n", said=("is empty",)),
    "a header without rows": File(b"a,class\n", said=("a header and no rows",)),
    "a line too short": File(b"a,b,class\n1,2,u\n3,4\n1,2,v\n", said=("line 3", "2 cells", "header has 3", "--sep")),
    "a line too long": File(b"a,class\n1,u\n2,v,9\n", said=("line 3", "3 cells", "header has 2")),
    "a header shorter than the rows": File(b"a,class\n1,2,u\n2,3,v\n", said=("line 2", "3 cells", "header has 2")),
    "a quote left open": File(b'a,class\n1,"u\n2,v\n', said=("line 2", "quote is left open")),
    "two columns of one name": File(b"a,a,class\n1,2,u\n2,3,v\n", said=("'a' stands 2 times", "--no-header")),
    "half of a gzip": File(gzip.compress(text().encode())[:150], ".csv.gz", said=("is not gzip, or not all of it",)),
    "a line that never ends": File(b"a,class\n1,u\n" + b"9" * 2**24, said=("longer than",)),
    "a pdf called csv": File(b"%PDF-1.7\n\x00\xff\xfe\x00binary" * 9, said=("class",)),
    "parquet called csv": File(b"PAR1" + bytes(range(256)) * 40, said=("",)),
    "another encoding than told": File(
        text().encode("cp1252"), options=("--encoding", "utf-8"), said=("not UTF-8", "--encoding")
    ),
    "an encoding that nobody knows": File(
        text().encode(), options=("--encoding", "klingon"), said=("klingon", "utf-8")
    ),
    "an archive": File(b"PK\x03\x04", ".zip", said=("unpack it with unzip",)),
    "a word document": File(b"PK\x03\x04", ".docx", said=("neither CSV",)),
    "not excel": File(b"PK\x03\x04", ".xlsx", said=("Excel",)),
}
