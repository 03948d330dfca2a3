"""A fitted model as one page to hand on: what was learned, how good it is, and where it is unsure.

Start with :func:`report`. A page is a list of :class:`Section`, worked out once and written as HTML or as Markdown.
The HTML asks nothing of the network and runs no script: a content security policy in the page itself forbids both.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesnb import plots
from bayesnb.__about__ import __version__
from bayesnb.answers.explain import UNITS
from bayesnb.answers.uncertainty import probability_of_interval
from bayesnb.estimator import BayesianNB
from bayesnb.evaluation import compare_estimates
from bayesnb.files import replacing
from bayesnb.priors import Array
from bayesnb.tables import Table
from bayesnb.targets import read_target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 40
"""Rows and columns of a table that are written out; of the rest, the page says how many there are."""

MARK = "bayesnb report"
"""Stands in the head of an HTML page, so that a page is known as one."""

CANDIDATES = 500
"""Rows whose uncertainty is split by draws: those of the highest predictive entropy."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A table of the page.

    Parameters
    ----------
    frame : DataFrame
        Its index heads the rows.
    caption : str
    folded : bool
        Whether HTML shows it only on demand: the numbers of a picture.
    """

    frame: pd.DataFrame
    caption: str
    folded: bool = False


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture of the page, and what it says, for those who do not see it."""

    figure: Figure
    caption: str
    says: str


type Part = str | Grid | Picture


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, and the paragraphs, tables and pictures under it."""

    title: str
    parts: Sequence[Part]


def report(
    clf: BayesianNB,
    X: Any,
    y: Any,
    title: str = "Naive Bayes report",
    format: Literal["html", "md"] = "html",
    rows: int = 5,
    by: Literal["total", "epistemic"] = "total",
    unit: str = "nats",
    prob: float | None = None,
    draws: int = 4000,
    progress: Callable[[str], None] | None = None,
) -> str:
    """The page of a fitted classifier.

    Parameters
    ----------
    clf : BayesianNB
        Fitted.
    X, y : table and labels
        The rows that it was fitted with; the estimator keeps none.
    title : str
    format : {"html", "md"}
        One self-contained HTML page, or Markdown, in which tables stand for the pictures.
    rows : int
        How many of the most uncertain rows to show with their ledgers; 0 for none.
    by : {"total", "epistemic"}
        Which entropy makes a row uncertain.
    unit : {"nats", "bits", "decibans"}
        Of the ledgers.
    prob : float, optional
        Of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    draws : int
        Exact posterior draws, for the entropies.
    progress : callable, optional
        Told what is being worked out.

    Returns
    -------
    str
        What the model does not have (the evidence of an improper prior, say) is replaced by the reason.

    Raises
    ------
    ValueError
        If an argument is none of those above, or the rows are not those that were learned.
    NotFittedError
        If the classifier is not fitted.
    """
    writers = {"html": _html, "md": _markdown}
    for name, value, known in (("format", format, writers), ("by", by, ("total", "epistemic")), ("unit", unit, UNITS)):
        if value not in known:
            raise ValueError(f"Expected {name} to be one of {list(known)}; got {value!r}")
    if not isinstance(rows, int | np.integer) or rows < 0:
        raise ValueError(f"Expected rows to be an integer of 0 or more; got {rows!r}")
    check_is_fitted(clf)
    table, labels = Table.of(X), _row_labels(X)
    codes = _learned_codes(clf, table, y)
    share = probability_of_interval(prob)
    say = progress or (lambda _: None)
    sections = [_overview(clf, table, y), _columns(clf), _parameters(clf)]
    say("scoring the four estimates by exact leave-one-out")
    sections.append(_or_reason("The four estimates, by exact leave-one-out", lambda: _comparison(clf, table, y)))
    sections.append(_or_reason("Calibration", lambda: _calibration(clf, table, y, codes, share)))
    say(f"splitting the uncertainty of the rows over {draws} posterior draws")
    sections.append(
        _or_reason("Uncertain rows", lambda: _uncertain(clf, table, labels, codes, rows, by, unit, share, draws))
    )
    say("evidence by column")
    sections.append(_or_reason("Evidence", lambda: _evidence(clf, table)))
    sections.append(_versions())
    say(f"writing {format}")
    return writers[format](title, sections)


def write(page: str, path: str | Path) -> None:
    """Write a page as UTF-8 so that the file is at every moment the old one or the whole new one.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written; the old file is then as it was.
    """
    with replacing(path) as part:
        part.write_text(page, encoding="utf-8", newline="\n")


def is_report(path: str | Path) -> bool:
    """Whether a file is a page that was written here, as HTML or as Markdown."""
    text = Path(path).read_bytes()
    headings = (b"\n## Data\n", b"\n## What each column got\n", b"\n## Versions\n")
    return MARK.encode() in text[:2000] or all(heading in text for heading in headings)


def _row_labels(X: Any) -> pd.Index:
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(Table.of(X).n_rows)


def _learned_codes(clf: BayesianNB, table: Table, y: Any) -> Array:
    """The classes of the rows as codes, or a refusal of rows that are not those that were learned."""
    target = read_target(y, clf.unlabelled)
    if len(target) != table.n_rows:
        raise ValueError(f"X has {table.n_rows} rows and y has {len(target)}")
    if not target.complete:
        raise ValueError(f"{int((~target.labelled).sum())} rows have no label: fit and report the labelled rows")
    codes = target.among(clf.classes_)
    count = np.bincount(codes, minlength=len(clf.classes_))
    if not np.allclose(count, clf.class_count_):
        raise ValueError(
            f"Expected the rows that were learned, unweighted: {_counts(clf.classes_, clf.class_count_)}; "
            f"got {_counts(clf.classes_, count)}"
        )
    return codes


def _counts(classes: Array, count: Array) -> str:
    return ", ".join(f"{n:g} of {label!r}" for label, n in zip(classes.tolist(), count, strict=True))


def _or_reason(title: str, build: Callable[[], Section]) -> Section:
    """A section, or the sentence that says why this model has none."""
    try:
        return build()
    except ValueError as error:
        return Section(title, [f"Not available: {error}."])


def _overview(clf: BayesianNB, table: Table, y: Any) -> Section:
    frame = pd.DataFrame(
        {"rows": clf.class_count_, "share": clf.class_count_ / clf.class_count_.sum()},
        index=pd.Index(clf.classes_, name="class"),
    )
    target = getattr(y, "name", None)
    named = "" if target is None else f" Target: {target}."
    return Section(
        "Data",
        [
            f"{table.n_rows} rows, {len(clf.schema_.names)} columns, {len(clf.classes_)} classes.{named} "
            f"Estimate: {clf.estimate}.",
            *_cut(frame, "Rows of each class"),
        ],
    )


def _columns(clf: BayesianNB) -> Section:
    frame = clf.describe().drop(columns="columns")
    text = (
        "Each column is read by one family of distributions, with its parameters drawn from the prior; missing is the "
        "share of values that are."
    )
    return Section("What each column got", [text, *_cut(frame, "Families and priors")])


def _parameters(clf: BayesianNB) -> Section:
    point = "posterior mean" if clf.estimate in ("predictive", "mean") else clf.estimate.upper() + " estimate"
    parts: list[Part] = [
        f"At the {point}, one row a class: probabilities of levels, mean and sd of reals, rates of counts."
    ]
    for name, frame in clf.tables().items():
        wide = frame.shape[1] > 8 and frame.index.nlevels == 1
        parts += _cut(frame.T.rename_axis("level") if wide else frame, _text(name))
    return Section("Parameters", parts)


def _cut(frame: pd.DataFrame, caption: str) -> Iterator[Part]:
    """A table, and what was left out of it."""
    yield Grid(frame.iloc[:LONGEST, :LONGEST], caption)
    for size, what in zip(frame.shape, ("rows", "columns"), strict=True):
        if size > LONGEST:
            yield f"{caption}: the first {LONGEST} of {size} {what}."


def _comparison(clf: BayesianNB, table: Table, y: Any) -> Section:
    frame = compare_estimates(clf, table, y)
    notes = [f"{name}: {note}." for name, note in frame["note"].items() if note]
    shown = frame.drop(columns="note")
    if not shown["impossible"].fillna(0).any():
        shown = shown.drop(columns="impossible")
    text = (
        "Each row is predicted by the model that has learned all the others, in closed form. log_loss is in nats; "
        "brier runs from 0 to 2; ece is the expected calibration error; from_predictive is the largest difference of "
        "a class probability from full Bayes."
    )
    return Section("The four estimates, by exact leave-one-out", [text, Grid(shown, "Scores of each estimate"), *notes])


def _calibration(clf: BayesianNB, table: Table, y: Any, codes: Array, share: float) -> Section:
    proba = clf.loo(table, y)["probability"].to_numpy()
    frame = plots.reliability_table(proba, codes, prob=share)
    worst = frame.loc[(frame["share"] - frame["confidence"]).abs().idxmax()]
    says = (
        f"Reliability of the leave-one-out predictions of {len(codes)} rows in {len(frame)} bins of confidence. "
        f"Farthest from the diagonal: confidence {worst['confidence']:.2f}, true in {worst['share']:.2f} of "
        f"{worst['rows']:.0f} rows."
    )
    text = (
        f"How often the most probable class is the true one, by its leave-one-out probability ({clf.estimate}). "
        f"The intervals are binomial, {share:.0%}."
    )
    frame = frame.set_index(frame["from"].map("{:.1f}".format) + " to " + frame["to"].map("{:.1f}".format))
    frame = frame.rename_axis("probability").drop(columns=["from", "to"])
    picture = Picture(plots.reliability(proba, codes, prob=share), "Calibration, leave-one-out", says)
    return Section("Calibration", [text, picture, Grid(frame, "Calibration, bin by bin", folded=True)])


def _uncertain(
    clf: BayesianNB,
    table: Table,
    labels: pd.Index,
    codes: Array,
    rows: int,
    by: str,
    unit: str,
    share: float,
    draws: int,
) -> Section:
    log_proba = clf.predict_log_proba(table)
    order = np.argsort(-entropy(np.exp(log_proba), axis=1), kind="stable")
    chosen = np.sort(order[:CANDIDATES])
    split = clf.uncertainty(_taken(table, chosen), prob=share, draws=draws)
    split.insert(0, "true", clf.classes_[codes[chosen]])
    split.index = labels[chosen].rename("row")
    text = (
        "The entropy of a row's class (total, in nats) is the sum of what is expected to remain if the parameters were "
        "known (aleatoric) and of what knowing them would remove (epistemic). lower and upper bound the probability of "
        f"the predicted class, under the posterior of the parameters, with probability {share:.0%}; top is the "
        "probability that it is the most probable class. The rows were learned, so that they look a little surer than "
        "new ones."
    )
    parts: list[Part] = [text]
    if table.n_rows > len(chosen):
        parts.append(f"Of {table.n_rows} rows, the {len(chosen)} with the highest predictive entropy are looked at.")
    says = (
        f"Aleatoric against epistemic entropy of {len(chosen)} rows. Largest: aleatoric {split['aleatoric'].max():.3g} "
        f"nats, epistemic {split['epistemic'].max():.3g} nats."
    )
    parts.append(Picture(plots.uncertainty_scatter(split), "Uncertainty of each row", says))
    top = np.argsort(-split[by].to_numpy(), kind="stable")[:rows]
    if len(top):
        parts.append(Grid(split.iloc[top], f"The rows of the highest {by} entropy"))
    for k in top:
        parts += _ledger(clf, table, chosen[k], labels[chosen[k]], unit, share)
    return Section("Uncertain rows", parts)


def _ledger(clf: BayesianNB, table: Table, position: int, label: Any, unit: str, share: float) -> Iterator[Part]:
    """The ledger of one row, as a picture and as a table."""
    frame = clf.explain(_taken(table, np.array([position])), unit=unit, prob=share)
    frame = frame.reset_index("row", drop=True)
    pair, total = frame.iloc[-1][["label", "against"]], frame["log_odds"].iloc[-1]
    largest = frame.iloc[1:-1]["log_odds"].abs().to_numpy().argmax() + 1
    says = (
        f"Ledger of row {_text(label)}: log-odds of {_text(pair['label'])} against {_text(pair['against'])}, "
        f"{total:+.3g} {unit} in all; the largest entry is {_text(frame.index[largest])}, "
        f"{frame['log_odds'].iloc[largest]:+.3g} {unit}."
    )
    value = [
        ("missing" if gone else "" if v is None else v)
        for v, gone in zip(frame["value"], frame["missing"], strict=True)
    ]
    numbers = frame[["log_odds", "lower", "upper"]].assign(value=pd.Series(value, frame.index, dtype=object))
    caption = f"Row {_text(label)}, {_text(pair['label'])} against {_text(pair['against'])} [{unit}]"
    yield Picture(plots.ledger(frame, unit), caption, says)
    whole = numbers[["value", "log_odds", "lower", "upper"]]
    if len(whole) > LONGEST:
        yield f"{caption}: the first {LONGEST} of {len(whole)} entries, and the total."
        whole = pd.concat([whole.iloc[:LONGEST], whole.iloc[[-1]]])
    yield Grid(whole, caption, folded=True)


def _taken(table: Table, positions: Array) -> Table:
    return table.rows(np.isin(np.arange(table.n_rows), positions))


def _evidence(clf: BayesianNB, table: Table) -> Section:
    evidence = clf.classifier_.log_evidence()
    frame = pd.DataFrame({"log_evidence": {name: float(value) for name, value in evidence.features.items()}})
    pooled = _pooled_evidence(clf, table)
    text = (
        f"log p(column | classes), all parameters integrated out, in nats. With log p(classes) = {evidence.label:.4g} "
        f"they make log p(data) = {evidence.joint:.6g}."
    )
    if pooled is not None:
        frame["bayes_factor"] = frame["log_evidence"] - frame.index.map(pooled)
        text += (
            " bayes_factor is the logarithm of the Bayes factor for a distribution in each class against one for all: "
            "above 0, the column tells classes apart; below 0, it does not on these rows."
        )
        frame = frame.sort_values("bayes_factor", ascending=False, kind="stable")
    return Section("Evidence", [text, *_cut(frame.rename_axis("column"), "Evidence of each column")])


def _pooled_evidence(clf: BayesianNB, table: Table) -> dict[Any, float] | None:
    """log p(column) as if there were one class; None where a prior is told by class."""
    try:
        one = clone(clf).set_params(class_prior=None, estimate="predictive").fit(table, np.zeros(table.n_rows, int))
        return dict(one.classifier_.log_evidence().features)
    except ValueError:
        return None


def _versions() -> Section:
    import platform
    from importlib.metadata import version

    found = {"bayesnb": __version__, "Python": platform.python_version()}
    found |= {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")}
    frame = pd.DataFrame({"version": found}).rename_axis("package")
    return Section("Versions", [f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.", Grid(frame, "Versions")])


def _text(value: Any, most: int = 200) -> str:
    """A name or a value as one line that any file can hold: what cannot be shown is replaced by a sign."""
    text = re.sub(r"\r\n|[\r\n\v\f\u0085\u2028\u2029]", " ↵ ", str(value))
    text = "".join("\ufffd" if not c.isprintable() and c not in "\t\u00a0" else c for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _shown(value: Any, decimals: int | None = None) -> str:
    if value is None or value is pd.NA or value is pd.NaT:
        return "—"
    if not isinstance(value, float | np.floating):
        return _text(value)
    if np.isnan(value):
        return "—"
    if np.isinf(value):
        return "−∞" if value < 0 else "∞"
    if decimals is None or 0 < abs(value) < 0.5 * 10.0**-decimals:
        return f"{value:.4g}"
    return f"{value:.{decimals}f}"


def _decimals(column: pd.Series) -> int | None:
    """How many decimals a column of numbers is shown with, the same in each row; None for anything else."""
    if not all(v is None or (isinstance(v, int | float | np.number) and not isinstance(v, bool)) for v in column):
        return None
    values = np.array([0.0 if v is None else float(v) for v in column])
    values = values[np.isfinite(values)]
    if (values == np.rint(values)).all():
        return 0
    return int(np.clip(4 - np.floor(np.log10(np.abs(values).max())), 1, 4))


def _cells(frame: pd.DataFrame) -> tuple[list[str], list[str], list[tuple[list[str], list[str]]], list[bool]]:
    """Names of the index, names of the columns, each row as its heads and its cells, and which columns are numbers."""
    heads = [_text(name) if name is not None else "" for name in frame.index.names]
    decimals = [_decimals(frame.iloc[:, k]) for k in range(frame.shape[1])]
    rows = []
    for k, label in enumerate(frame.index):
        labels = label if frame.index.nlevels > 1 else (label,)
        cells = [_shown(frame.iat[k, c], digits) for c, digits in enumerate(decimals)]
        rows.append(([_shown(part) for part in labels], cells))
    return heads, [_text(name) for name in frame.columns], rows, [digits is not None for digits in decimals]


# HTML

STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  color: #1a1a1a; background: #fff; margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 58rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .5rem; padding-top: .75rem; border-top: 1px solid #ccc; }
p { max-width: 44rem; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; }
a { color: #00527f; }
.wide { overflow-x: auto; margin: 1rem 0; }
.wide:focus-visible { outline: 2px solid #0072b2; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; overflow-wrap: anywhere; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem; border-bottom: 1px solid #ddd;
  max-width: 22rem; overflow-wrap: break-word; unicode-bidi: isolate; }
thead th { border-bottom: 2px solid #888; white-space: nowrap; }
tbody th { font-weight: 600; }
.n { text-align: right; white-space: nowrap; }
figure { margin: 1.25rem 0 .5rem; }
img { max-width: 100%; height: auto; }
figcaption { font-size: .9rem; color: #444; max-width: 44rem; overflow-wrap: anywhere; }
details { margin: .25rem 0 1.25rem; }
summary { cursor: pointer; font-size: .9rem; color: #00527f; }
"""


def _html(title: str, sections: Sequence[Section]) -> str:
    style = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    name = html.escape(_text(title))
    links = "".join(f'<li><a href="#s{k}">{html.escape(s.title)}</a></li>' for k, s in enumerate(sections))
    body = "\n".join(
        f'<section aria-labelledby="s{k}">\n<h2 id="s{k}">{html.escape(s.title)}</h2>\n'
        + "\n".join(map(_html_part, s.parts))
        + "\n</section>"
        for k, s in enumerate(sections)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="{MARK}">
<title>{name}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{name}</h1>
<nav aria-label="Contents"><ul>{links}</ul></nav>
{body}
</main>
</body>
</html>
"""


def _html_part(part: Part) -> str:
    match part:
        case Grid():
            return _html_table(part)
        case Picture():
            says = html.escape(part.says)
            image, width, height = _png(part.figure)
            return (
                f'<figure><img src="data:image/png;base64,{image}" alt="{says}" width="{width}" height="{height}">'
                f"<figcaption>{html.escape(part.caption)}</figcaption></figure>"
            )
        case _:
            return f"<p>{html.escape(_text(part, 2000))}</p>"


def _html_table(grid: Grid) -> str:
    heads, names, rows, numbers = _cells(grid.frame)
    kinds = [' class="n"' if number else "" for number in numbers]
    caption = html.escape(grid.caption)
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in heads)
    head += "".join(f'<th scope="col"{k}>{html.escape(name)}</th>' for name, k in zip(names, kinds, strict=True))
    lines = []
    for labels, cells in rows:
        line = "".join(f'<th scope="row">{html.escape(label)}</th>' for label in labels)
        line += "".join(f"<td{k}>{html.escape(cell)}</td>" for cell, k in zip(cells, kinds, strict=True))
        lines.append(f"<tr>{line}</tr>")
    body = "\n".join(lines)
    shown = (
        f'<div class="wide" role="region" tabindex="0" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
    return f"<details><summary>The numbers: {caption}</summary>{shown}</details>" if grid.folded else shown


def _png(figure: Figure) -> tuple[str, int, int]:
    """A figure as base64, at twice the size in pixels that it has on the page, and that size."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # What the font of the pictures cannot write stands in the tables.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="png", dpi=180, metadata={"Software": None})
    width, height = (round(90 * inches) for inches in figure.get_size_inches())
    return base64.b64encode(file.getvalue()).decode(), width, height


# Markdown


def _markdown(title: str, sections: Sequence[Section]) -> str:
    lines = [f"# {_escaped(_text(title))}"]
    for section in sections:
        lines += ["", f"## {_escaped(section.title)}"]
        for part in section.parts:
            match part:
                case Grid():
                    lines += ["", f"**{_escaped(part.caption)}**", "", *_markdown_table(part.frame)]
                case Picture():
                    lines += ["", _escaped(part.says)]
                case _:
                    lines += ["", _escaped(_text(part, 2000))]
    return "\n".join(lines) + "\n"


def _markdown_table(frame: pd.DataFrame) -> Iterator[str]:
    heads, names, rows, numbers = _cells(frame)

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(_escaped, cells)) + " |"

    yield line([*heads, *names])
    yield "|" + " --- |" * len(heads) + "".join(" ---: |" if number else " --- |" for number in numbers)
    for labels, cells in rows:
        yield line([*labels, *cells])


def _escaped(text: str) -> str:
    """Text that Markdown shows letter by letter, in a cell of a table or outside."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Not in the middle of a word, where an underscore means nothing.
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", re.sub(r"([\\`*\[\]|~$])", r"\\\1", text))
    # At the start of a line, what makes a heading or a list.
    text = re.sub(r"^(\s*)(#|[-+=](?=[\s=-]|$))|^(\s*\d+)([.)])(?=\s|$)", r"\1\3\\\2\4", text)
    return text.replace("://", "&#58;//").strip()
