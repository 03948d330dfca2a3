"""``bayesnb inspect``: how a table is read, what deserves attention, and what a model file contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesnb.cli import options
from bayesnb.cli.outputs import is_model
from bayesnb.cli.printing import print_answer, print_command
from bayesnb.cli.settings import Settings, advised, fit_command
from bayesnb.cli.sources import opened, watched
from bayesnb.findings import marks_of
from bayesnb.wording import Message

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.data.readers import Source
    from bayesnb.data.summary import Summary


@options.command("DATA|MODEL", epilog=options.SOURCES, settings="naive")
def inspect(data: str, target: str | None, settings: Settings, format: Format, layout: str) -> int:
    """Show how a table and its columns are read, and what deserves attention; or what a model file contains.

    The last line is the command that fits a model with the advised options: columns to leave out, markers to read as
    missing, and families of columns.
    """
    import pandas as pd

    from bayesnb.data import engines
    from bayesnb.data.specifications import EstimatorParameters, Unlabelled

    if data != "-" and is_model(data):
        from bayesnb.modelfile import document

        described = document.describe(data)
        about = {
            "model": data,
            "written by": f"bayesnb {described['bayesnb_version']} (format {described['format_version']})",
            "content": described["content_hash"],
            "target": described["target"],
            "rows": {str(label): rows for label, rows in described["rows"].items()},
            "settings": {
                name: value if value is None or isinstance(value, bool | int | float | str) else repr(value)
                for name, value in described["configuration"].items()
            },
        }
        _print(about, pd.DataFrame(described["features"]).set_index("feature"), layout)
        return 0
    table = opened(data, format, settings, () if target is None else (target,))
    table.require(target, "--target")
    target = table.own_target if target is None else target
    odd = table.unreadable([target, settings.weight])
    table = replace(table, settings=replace(settings, drop=(*settings.drop, *(remark.column for remark in odd))))
    passing, sample = watched(table)
    asked = EstimatorParameters(
        unlabelled=Unlabelled(weight=0), **settings.parameters() | {"class_prior": None, "unknown": None}
    )
    summary = engines.summary(asked, passing, target, settings.weight)
    frame = sample()
    seen = [*odd, *table.examined(frame, target, summary.rows)]
    about: dict[str, Any] = {"data": data, "rows": summary.rows}
    about |= {} if table.file is None else _how_read(table.file)
    if target is not None:
        about |= {"target": target} | ({"without a class": summary.blank} if summary.blank else {})
        about["classes"] = {str(k): n for k, n in zip(summary.classes, summary.statistics.rows.tolist(), strict=True)}
    marks, settings = marks_of(seen), advised(settings, seen)
    command = fit_command(data, target, replace(format, na=(*format.na, *marks)), settings)
    more = {
        "remarks": [{"column": str(r.column), "remark": r.said, "serious": r.serious} for r in seen],
        "fit": command,
    }
    line = "{column}: {said}"
    said = [Message(line + " (leave it out with --drop)" * r.drop, column=r.column, said=r.said) for r in seen]
    _print(about, _columns(summary), layout, more, said)
    if layout == "table":
        print_command(command)
    return 0


def _how_read(source: Source) -> dict[str, Any]:
    if source.kind == "text":
        return {"read as": f"{len(source.files):,} files of texts or mail; their folders are the classes"}
    if not source.layouts:
        return {}
    first = source.layouts[0]
    named = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
    header = "names in the first line" if first.header else "no line of names"
    cells = f"{first.encoding}, cells separated by {named.get(first.sep, repr(first.sep))}"
    lines = first.skip
    if source.sheets:
        sheet, lines = source.sheets[0], first.skip + source.sheets[0].titles
        rest = [other for other in sheet.others if other not in sheet.hidden]
        others = f" (there are also {', '.join(map(repr, rest))}: --sheet)" if rest else ""
        hidden = f" (hidden and skipped: {', '.join(map(repr, sheet.hidden))})" if sheet.hidden else ""
        cells = f"sheet {sheet.name!r}{others}{hidden}"
        if sheet.empty:
            cells += f", {sheet.empty:,} formulas without a stored value are missing (open the file and save it)"
        header = header.replace("line", "row")
    skipped = f"{lines} {'row' if source.sheets else 'line'}{'s' * (lines > 1)} before it left out" if lines else ""
    comma = "decimal commas" if any("," in layout.marks.values() for layout in source.layouts) else ""
    files = f"{len(source.layouts)} files" if len(source.layouts) > 1 else ""
    return {"read as": ", ".join(filter(None, [files, cells, comma, header, skipped]))}


def _columns(summary: Summary) -> pd.DataFrame:
    import numpy as np

    from bayesnb.statistics.moments import Moments

    frame = summary.schema.describe(summary.statistics).drop(columns=["prior", "columns"])
    for name, s in summary.statistics.features.items():
        if isinstance(s, Moments):
            mean, _, variance = s.of_columns()
            with np.errstate(divide="ignore"):
                shown = summary.schema.features[name].family.readable({"mu": mean, "tau": 1 / variance})
            for what, values in shown.items():
                frame.loc[name, what] = values[0]
    chose = any(feature.tried for feature in summary.schema.features.values())
    return frame if chose else frame.drop(columns="chosen")


def _print(
    about: Mapping[str, Any], features: pd.DataFrame, layout: str, more: Mapping[str, Any] | None = None,
    said: Sequence[str | Message] = (),
) -> None:  # fmt: skip
    from bayesnb.report.parts import Section, TablePart, count_of

    lines = []
    for name, value in about.items():
        if isinstance(value, Mapping):
            each = [f"{k}={v}" for k, v in value.items() if v is not None]
            value = count_of(value) if name != "settings" else ", ".join(each)
        lines.append(f"{name}: {value}")
    section = Section("", [TablePart(features, ""), *said], "\n".join(lines))
    print_answer(layout, {**about, "features": features, **(more or {})}, features, lambda: [section])
