"""Random small CSV files: each is read as it was written, as pandas reads it that is told how, or refused by name."""

import gzip
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesnb.data import readers
from bayesnb.data.csv_reader import Format

CASES, ORDINARY = 240, 48
WORDS = [
    "'",
    "it's",
    "'a",
    "b'",
    'say "hi"',
    "a;b",
    "a,b",
    "a|b",
    "a\tb",
    "two\nlines",
    "C:\\",
    "\\",
    "#1",
    '5" long',
    "ü",
    "x y",
    "p",
]
FOLDERS = ["c0=7", "c1=zz", "c2=", "a\\[b", "x'y", "*", "a?b", "100 %", "{a,b}", 'so "called"', "ü", "plain"]
GAPS = ["", "NA", "nan", "?", "-", "."]


@dataclass
class Written:
    """A random table, and how it is written."""

    rng: random.Random
    sep: str = field(init=False)
    mark: str = field(init=False)
    told: bool = field(init=False)
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        pick = self.rng.choice
        self.sep, self.mark, self.rows = pick(",;\t|"), pick("..,"), self.rng.randint(3, 12)
        self.told = pick([True, False])
        # Groups of thousands, and decimals in threes, look alike; so do decimal commas and pairs.
        kinds = [self.whole, self.real, self.thirds, self.code, self.words, self.address, self.version, self.flag]
        kinds += [self.grouped, self.pair] if self.told or self.sep == "," else []
        chosen = self.rng.choices(kinds, k=self.rng.randint(1, 5))
        self.told |= self.grouped in chosen or (self.mark == "," and self.thirds in chosen)
        self.columns = {f"v{k}": kind() for k, kind in enumerate(chosen)}
        self.columns["y"] = [(y, y) for y in self.rng.choices("pq", k=self.rows)]

    def many(self, make) -> list[tuple[str, object]]:
        return [make() for _ in range(self.rows)]

    def number(self, shown: str) -> str:
        return shown.replace(",", "\0").replace(".", self.mark).replace("\0", ".,"[self.mark == "."])

    def gapped(self, cells):
        """The same, in which some cells are missing, but not all."""
        share = self.rng.choice([0, 0, 0.3])
        return [cells[0], *((self.rng.choice(GAPS), None) if self.rng.random() < share else c for c in cells[1:])]

    def whole(self):
        top = self.rng.choice([2, 10, 10**4, 10**9])
        return self.gapped(self.many(lambda: (str(v := self.rng.randint(-top, top)), float(v))))

    def real(self):
        digits, size = self.rng.choice([1, 2, 4, 5]), self.rng.choice([1, 10, 10**4])
        values = self.many(lambda: f"{self.rng.uniform(-size, size):.{digits}f}")
        return self.gapped([(self.number(v), float(v)) for v in values])

    def thirds(self):
        low = self.rng.choice([0, 0, 1])
        values = self.many(lambda: f"{self.rng.uniform(low, 10):.3f}")
        return self.gapped([(self.number(v), float(v)) for v in values])

    def grouped(self):
        values = [self.rng.randint(1, 999), *self.many(lambda: int(10 ** self.rng.uniform(0, 9)))[1:]]
        return self.gapped([(self.number(f"{v:,}"), float(v)) for v in values])

    def code(self):
        values = ["0" + str(self.rng.randint(1000, 9999)), *self.many(lambda: f"{self.rng.randint(0, 99999):05}")[1:]]
        return [(v, v) for v in values]

    def words(self):
        return self.many(lambda: (v := self.rng.choice(WORDS), v))

    def address(self):
        return self.many(lambda: (v := ".".join(str(self.rng.randint(100, 255)) for _ in range(4)), v))

    def version(self):
        top = self.rng.choice([9, 999])
        return self.many(lambda: (v := ".".join(str(self.rng.randint((top + 1) // 10, top)) for _ in range(3)), v))

    def pair(self):
        values = self.many(lambda: f"{self.rng.randint(1, 60)},{self.rng.randint(1, 60)}")
        level = self.told and self.mark == "."
        return [(v, v if level else float(v.replace(",", "."))) for v in values]

    def flag(self):
        return self.many(lambda: (v := self.rng.choice(["True", "False"]), v == "True"))

    def text(self) -> str:
        every, end = self.rng.random() < 0.2, self.rng.choice(["\n", "\n", "\r\n"])
        sloppy, blank = self.rng.random() < 0.2, self.rng.random() < 0.1

        def cell(shown: str) -> str:
            needed = every or any(odd in shown for odd in (self.sep, "\n", *(() if sloppy else '"')))
            return '"' + shown.replace('"', '""') + '"' if needed else shown

        rows = zip(*([shown for shown, _ in cells] for cells in self.columns.values()), strict=True)
        lines = [self.sep.join(map(cell, row)) for row in (tuple(self.columns), *rows)]
        return (end * (1 + blank)).join(lines) + self.rng.choice([end, end, "", 2 * end])

    def put(self, at: Path) -> Path:
        folder = at / self.rng.choice(FOLDERS)
        folder.mkdir(parents=True)
        packed = self.rng.random() < 0.1
        path = folder / ("t.csv.gz" if packed else "t.csv")
        data = self.text().encode()
        path.write_bytes(gzip.compress(data) if packed else data)
        return path

    def format(self) -> Format:
        return Format(sep=self.rng.choice([self.sep, None]), decimal=self.mark if self.told else None, names=("y",))

    def truth(self) -> dict[str, list]:
        return {name: [value for _, value in cells] for name, cells in self.columns.items()}

    def by_pandas(self, path: Path) -> dict[str, list]:
        """The table as pandas reads it, which is told everything; also which pairs are decimals that are in quotes."""
        numbers = [k for k, values in self.truth().items() if isinstance(values[0], float)]
        other = "." if self.mark == "," else ","
        grouped = any(self.number("1,000")[1] in shown for k in numbers for shown, _ in self.columns[k])
        pairs = [k for k in numbers if self.mark == "." and re.fullmatch(r"\d+,\d\d?", self.columns[k][0][0])]
        text = [k for k, values in self.truth().items() if isinstance(values[0], str)]
        frame = pd.read_csv(
            path,
            sep=self.sep,
            decimal=self.mark,
            thousands=other if grouped and self.told else None,
            na_values={k: GAPS for k in numbers if k not in pairs},
            converters=dict.fromkeys(pairs, lambda cell: float(cell.replace(",", "."))),
            dtype=dict.fromkeys(text, "str"),
        )
        return listed(frame)


def listed(frame: pd.DataFrame) -> dict[str, list]:
    def value(v):
        return (
            None if pd.isna(v) else v if isinstance(v, bool | str) else bool(v) if isinstance(v, np.bool_) else float(v)
        )

    return {name: [value(v) for v in frame[name].tolist()] for name in frame.columns}


def tried(seed: int, at: Path) -> str:
    """What became of one file: "read" or "refused"."""
    written = Written(random.Random(seed))
    path = written.put(at / str(seed))
    truth = written.truth()
    assert written.by_pandas(path) == truth, f"seed {seed}"
    try:
        found = listed(readers.frame(readers.Source(path, written.format())))
    except ValueError as refused:
        assert str(path) in str(refused), f"seed {seed}: {refused}"  # noqa: PT017
        return "refused"
    assert found == truth, f"seed {seed}: {path}"
    return "read"


@pytest.mark.parametrize(
    "seeds", [range(ORDINARY), pytest.param(range(ORDINARY, CASES), marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_random_file_is_read_as_it_was_written_or_refused_by_its_name(seeds, tmp_path):
    found = [tried(seed, tmp_path) for seed in seeds]
    assert found.count("refused") <= 0.1 * len(found)
