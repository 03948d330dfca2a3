"""``bayesnb inspect``: how a table is read, what deserves attention, and what a model file contains."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from bayesnb.cli import options
from bayesnb.cli.outputs import is_model
from bayesnb.cli.printing import print_answer, print_command
from bayesnb.cli.settings import Settings, fit_command
from bayesnb.cli.sources import opened
from bayesnb.wording import Message

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.data.readers import Source
    from bayesnb.data.summary import Summary


@options.command("DATA|MODEL", epilog=options.SOURCES, settings="naive", everything="whole")
def inspect(
    data: str, target: str | None, settings: Settings, format: Format, everything: bool, layout: str
) -> int:  # fmt: skip
    """Show how each column is read; or show what a model contains.

    For a model, the output shows the leave-one-out score of the learned rows, and how informative each column is by
    itself. For a table, the output shows how each column is read, and what deserves attention. The output ends with the
    command that fits a model with the advised options.
    """
    from bayesnb.data import engines
    from bayesnb.data.specifications import EstimatorParameters, Unlabelled
    from bayesnb.findings import assumed, marks_of, together
    from bayesnb.inference.scorecard import percent
    from bayesnb.report.parts import Section, TablePart, count_of

    if data != "-" and is_model(data):
        options.refuse(options.SETTINGS, f"{data} is already fitted; fit it again with this option")
        options.refuse(("target", *options.FORMAT), f"{data} is a model file, not a table")
        return _model(data, everything, layout)
    table = opened(data, format, settings, (target,), says_sheet=False)
    target = table.own_target if target is None else target
    table.require(target, "--target")
    odd = table.unreadable([target, settings.weight])
    table = replace(table, settings=replace(settings, drop=(*settings.drop, *(remark.column for remark in odd))))
    passing, sample = table.watched()
    asked = EstimatorParameters(
        unlabelled=Unlabelled(weight=0), **settings.parameters() | {"class_prior": None, "unknown": None}
    )
    summary = engines.summary(asked, passing, target, settings.weight, again=table.tables, marks=table.marks)
    frame = sample().source
    seen = [*odd, *table.examined(frame, target, summary.rows)]
    about: dict[str, Any] = {"data": data, "rows": summary.rows}
    about |= {} if table.file is None else _how_read(table.file)
    if target is not None:
        about |= {"target": target} | ({"without a class": summary.blank} if summary.blank else {})
        about["classes"] = {str(k): n for k, n in zip(summary.classes, summary.statistics.rows.tolist(), strict=True)}
    marks, settings = marks_of(seen), settings.advised(seen)
    command = fit_command(data, target, replace(format, na=(*format.na, *marks)), settings)
    remarks = [{"column": r.column and str(r.column), "remark": r.said, "serious": r.serious} for r in seen]
    said = [
        Message("{column}: {said}{drop}{likewise}", column=each.names, said=each.first.said, likewise=each.likewise,
                drop=" (leave it out with --drop)" * each.first.drop)
        for each in together(seen)
    ]  # fmt: skip
    if (assumption := assumed(seen)) is not None:
        said.append(assumption)
    if target is None:
        said.append("Name the class column with --target: its labels are then examined, and no option is for it.")
    features = _columns(summary)
    shown = features.assign(missing=features["missing"].map(percent))
    lead = "\n".join(f"{k}: {count_of(value) if isinstance(value, Mapping) else value}" for k, value in about.items())
    document = {**about, "features": features, "remarks": remarks, "fit": command}
    print_answer(layout, document, features, lambda: [Section("", [TablePart(shown, ""), *said], lead)])
    if layout == "table":
        print_command(command)
    return 0


SHOWN = 12
"""Number of columns of a model shown without ``--all``, the most informative first."""


def _model(path: str, everything: bool, layout: str) -> int:
    import pandas as pd

    from bayesnb.cli.models import load_model
    from bayesnb.inference.column_gains import information
    from bayesnb.inference.scorecard import percent, worth_of_record
    from bayesnb.modelfile import document
    from bayesnb.report.parts import Section, TablePart, count_of

    described, (clf, _) = document.describe(path), load_model(path)
    entropy, told = information(clf)
    features = pd.DataFrame(described["features"]).set_index("feature")
    # A missing cell changes no probability, so a column with gaps is informative in the other rows only.
    known = 1.0 - features["missing"].fillna(0.0).astype(float)
    features["information"] = known * [told[name] for name in features.index]
    settings = {
        name: value if value is None or isinstance(value, bool | int | float | str) else repr(value)
        for name, value in described["configuration"].items()
    }
    rows, record = {str(label): n for label, n in described["rows"].items()}, described["record"]
    about = {
        "model": path,
        "written by": f"bayesnb {described['bayesnb_version']} (format {described['format_version']})",
        "written": datetime.fromtimestamp(Path(path).stat().st_mtime).astimezone().isoformat(timespec="seconds"),
        "content": described["content_hash"], "target": described["target"], "rows": rows, "record": record,
        "settings": settings,
    }  # fmt: skip
    k, columns = len(features), len(clf.schema.raw)
    source = f"{record['data']}, " if "data" in record else ""
    lines = {
        "model": f"{path} ({about['written'][:16].replace('T', ' ')})",
        "learned from": f"{source}{clf.statistics.counted()}: {count_of(rows, 8)}",
        "dependence": "none (naive Bayes)" if clf.dependence is None else settings["dependence"] or "custom",
    }
    if clf.dependence is not None and clf.dependence.exponents.said:
        lines["dependence"] += f": {clf.dependence.exponents.said}"
    if everything:
        lines |= {name: str(about[name]) for name in ("written by", "content")}
        lines["settings"] = ", ".join(f"{name}={value}" for name, value in settings.items() if value is not None)
        lines |= {f"--{name.replace('_', '-')}": shlex.join(own) for name, own in clf.reading.items() if own}
    bags = [name for name in features.index if clf.schema.features[name].family.support.kind == "bag"]
    shown = features.assign(bag=features.index.isin(bags)).sort_values(["bag", "information"], ascending=[True, False])
    shown = shown.drop(columns="bag")
    shown["information"] = ["—" if nats != nats else f"{nats:.3f}" for nats in shown["information"]]
    shown["missing"] = ["" if share == 0 else percent(share) for share in shown["missing"]]
    if not everything:
        first = shown.index.isin([*shown.index[:SHOWN], *bags])
        shown = shown.loc[first, ["family", "levels", "missing", "information"]]
        shown["levels"] = [shorten(text, 25, placeholder=" …") for text in shown["levels"]]
    rest = k - len(shown)
    more = f"{rest:,} further {'feature' if rest == 1 else 'features'}, " if rest else ""
    says = [
        "information: the nats of uncertainty about the class"
        + f" ({entropy:.3f} in all)" * (entropy == entropy)
        + " that the column removes by itself, as the model expects; a missing cell removes none. A few wrong cells or "
        f"a wrong family make it far too large: bayesnb ask column-gains {shlex.quote(path)} LEARNED measures it "
        "on LEARNED, exactly the learned rows."
        + " A bag of words comes last: its words count as independent, so its number is often far too high."
        * bool(bags),
        *([] if everything else [f"--all also shows {more}priors and settings."]),
    ]
    head = f"Predicts {described['target'] or 'the class'} ({_few([*rows])}) from {columns:,} "
    head += "column." if columns == 1 else "columns."
    parts = ["\n".join(f"{name}: {line}" for name, line in lines.items()), TablePart(shown, ""), *says]
    document_of = {**about, "features": features}
    chosen = clf.dependence is not None and bool(clf.dependence.spec.average or clf.dependence.spec.pairs)
    lead = f"{head} {worth_of_record(record, chosen)}"
    if settings["class_prior"] not in (None, "frequencies"):
        total, p = sum(rows.values()) or 1, clf.tables()["(class)"]["probability"].tolist()
        each = [f"{c} {percent(p)} ({percent(n / total)})" for (c, n), p in zip(rows.items(), p, strict=True)]
        lead += f" Its class prior was given: the probabilities (and shares of the learned rows) are {_few(each)}."
        lead += " The score may differ much on rows whose classes have these probabilities." * ("log_loss" in record)
    print_answer(layout, document_of, features, lambda: [Section("", parts, lead)])
    return 0


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")


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
        others = f" (there are also {sheet.unread}: --sheet)" if sheet.unread else ""
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
    import pandas as pd

    from bayesnb.statistics.moments import Moments

    held: dict[Any, pd.DataFrame] = {}
    frame = summary.schema.describe(summary.statistics).drop(columns=["prior", "columns"])
    for name, s in summary.statistics.features.items():
        if isinstance(s, Moments):
            mean, _, variance = s.of_columns()
            with np.errstate(divide="ignore"):
                shown = summary.schema.features[name].family.readable({"mu": mean, "tau": 1 / variance})
            held[name] = summary.schema.dated(name, pd.DataFrame({what: values[:1] for what, values in shown.items()}))
    frame = frame.join(pd.DataFrame({name: shown.iloc[0].astype(object) for name, shown in held.items()}).T)
    chose = any(feature.tried for feature in summary.schema.features.values())
    return frame if chose else frame.drop(columns="chosen")
