"""The command line: parses, calls, prints.

Results go to stdout, everything else to stderr. What a command needs is imported when it runs, so that
``bayesnb --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from bayesnb import datasets
from bayesnb.__about__ import __version__

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.estimator import BayesianNB

# The rows that the textbooks ask about (Mitchell 1997, 6.9.1; Han, Kamber and Pei 2012, 8.3).
TEXTBOOK_ROWS = {
    "play-tennis": "outlook=sunny,temperature=cool,humidity=high,wind=strong",
    "buys-computer": "age=youth,income=medium,student=yes,credit_rating=fair",
}


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 the data or the model are at fault, 2 the command is, 4 the sampler did not "
    "converge, 5 the two roads disagree, 130 interrupted.",
)
@click.version_option(__version__, prog_name="bayesnb")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Naive Bayes as a probabilistic program: exact, conjugate, with its uncertainty."""


@cli.command(epilog="Embedded data: " + ", ".join(datasets.names()) + ".")
@click.argument("data", metavar="DATA")
@click.option("--target", help="Column that holds the class (known for embedded data).")
@click.option(
    "--row",
    "rows",
    multiple=True,
    metavar="K=V,K=V",
    help="A row to predict; columns not named are missing. May be repeated.  [default: the textbook's, else the first]",
)
@click.option("--cv", type=click.IntRange(2), help="Score by this many folds instead of exact leave-one-out.")
@click.option("--draws", type=click.IntRange(1), default=4000, show_default=True, help="Exact draws for intervals.")
@click.option(
    "--prob", type=click.FloatRange(0, 1, True, True), default=0.89, show_default=True, help="Of the intervals."
)
@click.option("--nuts", is_flag=True, help="Also sample the PyMC model with NUTS, and hold the two roads together.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="json holds everything, csv the scores.",
)
def compare(
    data: str,
    target: str | None,
    rows: tuple[str, ...],
    cv: int | None,
    draws: int,
    prob: float,
    nuts: bool,
    seed: int,
    layout: str,
) -> int:
    """Compare maximum likelihood, MAP, posterior mean and full Bayes on one table.

    DATA is the name of an embedded data set, or a CSV or Parquet file. Printed are the family of each
    column, the scores of each estimate on rows it has not seen, and the probabilities of the asked rows with
    the interval of p(class | row, parameters) over exact posterior draws.
    """
    from bayesnb.estimator import BayesianNB
    from bayesnb.evaluation import compare_estimates

    name, X, y = _load(data, target)
    say = _stderr()
    say(f"{name}: {len(X)} rows, {X.shape[1]} columns, target {y.name!r}")
    clf = BayesianNB(random_state=seed).fit(X, y)
    for column in _identifiers(clf, len(X)):
        say(f"column {column!r} has about as many levels as there are rows: is it an identifier or free text?")
    asked = _asked(rows, name, X)
    say(f"scoring by {f'{cv} folds' if cv else 'exact leave-one-out'}")
    table = compare_estimates(clf, X, y, cv or "loo")
    answers = [_answer(clf, X, row, draws, prob) for row in asked]
    roads = _sampled(clf, X, asked, answers, say) if nuts else None
    described = clf.describe()
    how = f"{cv}-fold cross-validation" if cv else "exact leave-one-out"
    if layout == "json":
        _print_json(name, y.name, how, described, table, asked, answers, prob, roads)
    elif layout == "csv":
        click.echo(table.to_csv(), nl=False)
    else:
        _print_tables(how, described, table, asked, answers, prob, draws)
        if roads is not None:
            closed, sampled = 1000 * roads["seconds_closed"], roads["seconds_nuts"]
            click.echo(f"\n{roads['verdict']}\nclosed form {closed:.0f} ms; NUTS {sampled:.0f} s, compiling included")
    return 0 if roads is None else roads["exit"]


@cli.command(epilog="Embedded data: " + ", ".join(datasets.names()) + ".")
@click.argument("data", metavar="DATA")
@click.option("--target", help="Column that holds the class (known for embedded data).")
@click.option(
    "--row",
    metavar="K=V,K=V",
    help="The row to explain; columns not named are missing.  [default: the textbook's, else the first]",
)
@click.option("--label", help="The class that the log-odds are for.  [default: the most probable]")
@click.option("--against", help="The class that they are against.  [default: the most probable other]")
@click.option(
    "--unit",
    type=click.Choice(["nats", "bits", "decibans"]),
    default="nats",
    show_default=True,
    help="Of the log-odds; ten decibans are a factor of ten.",
)
@click.option(
    "--prob", type=click.FloatRange(0, 1, True, True), default=0.89, show_default=True, help="Of the intervals."
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
)
def explain(
    data: str,
    target: str | None,
    row: str | None,
    label: str | None,
    against: str | None,
    unit: str,
    prob: float,
    layout: str,
) -> int:
    """Explain the prediction of one row: what each of its values adds to the log-odds of two classes.

    DATA is the name of an embedded data set, or a CSV or Parquet file. The entries sum to the total. A missing
    value adds nothing.
    """
    from bayesnb.estimator import BayesianNB

    name, X, y = _load(data, target)
    say = _stderr()
    say(f"{name}: {len(X)} rows, {X.shape[1]} columns, target {y.name!r}")
    clf = BayesianNB(random_state=0).fit(X, y)
    (asked,) = _asked([] if row is None else [row], name, X)
    frame = _frame([asked], X)
    pair = [_class(clf, text, option) for text, option in ((label, "--label"), (against, "--against"))]
    if pair[0] is not None and pair[0] == pair[1]:
        raise click.BadParameter(
            f"both are {label!r}: there are no odds of a class against itself", param_hint="--against"
        )
    ledger = clf.explain(frame, *pair, unit=unit, prob=prob).droplevel("row")
    if layout == "json":
        proba = dict(zip(map(str, clf.classes_), map(float, clf.predict_proba(frame)[0]), strict=True))
        _print_ledger_json(name, y.name, asked, proba, ledger, unit, prob)
    elif layout == "csv":
        click.echo(ledger.to_csv(), nl=False)
    else:
        _print_ledger(asked, ledger, unit, prob)
    return 0


@cli.command(epilog="Embedded data: " + ", ".join(datasets.names()) + ".")
@click.argument("data", metavar="DATA")
@click.option("--target", help="Column that holds the class (known for embedded data).")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to write the page, all of it or nothing; - is stdout.",
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(["html", "md"]),
    help="[default: md for a FILE that ends in .md or .markdown, else html]",
)
@click.option("--title", help="Of the page.  [default: names the data]")
@click.option("--rows", type=click.IntRange(0), default=5, show_default=True, help="Uncertain rows to explain.")
@click.option(
    "--by",
    type=click.Choice(["total", "epistemic"]),
    default="total",
    show_default=True,
    help="The entropy that makes a row uncertain.",
)
@click.option(
    "--unit",
    type=click.Choice(["nats", "bits", "decibans"]),
    default="nats",
    show_default=True,
    help="Of the log-odds.",
)
@click.option("--draws", type=click.IntRange(2), default=4000, show_default=True, help="Exact draws for entropies.")
@click.option(
    "--prob", type=click.FloatRange(0, 1, True, True), default=0.89, show_default=True, help="Of the intervals."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")
def report(
    data: str,
    target: str | None,
    output: str,
    layout: str | None,
    title: str | None,
    rows: int,
    by: str,
    unit: str,
    draws: int,
    prob: float,
    seed: int,
) -> int:
    """Write one self-contained page about a table: its model, its scores, its calibration, its uncertain rows.

    DATA is the name of an embedded data set, or a CSV or Parquet file. The page asks nothing of the network.
    """
    from pathlib import Path

    if output != "-" and not (folder := Path(output).absolute().parent).is_dir():
        raise click.BadParameter(f"there is no folder {str(folder)!r}", param_hint="--output")
    if output != "-" and Path(output).is_dir():
        raise click.BadParameter(f"{output!r} is a folder", param_hint="--output")
    from bayesnb.estimator import BayesianNB
    from bayesnb.report import report as page_of
    from bayesnb.report import write

    name, X, y = _load(data, target)
    say = _stderr()
    say(f"{name}: {len(X)} rows, {X.shape[1]} columns, target {y.name!r}")
    clf = BayesianNB(random_state=seed).fit(X, y)
    for column in _identifiers(clf, len(X)):
        say(f"column {column!r} has about as many levels as there are rows: is it an identifier or free text?")
    layout = layout or ("md" if output.lower().endswith((".md", ".markdown")) else "html")
    title = title if title is not None else f"Naive Bayes: {name}"
    page = page_of(clf, X, y, title, layout, rows, by, unit, prob, draws, progress=say)
    if output == "-":
        click.echo(page, nl=False)
    else:
        write(page, output)
        say(f"wrote {output}")
    return 0


def _load(data: str, target: str | None) -> tuple[str, pd.DataFrame, pd.Series]:
    """The table and its labels; a file that has the name of an embedded table wants its suffix or a path."""
    if data.replace("_", "-") in datasets.names():
        X, y = datasets.load(data)
        if target in (None, y.name):
            return data.replace("_", "-"), X, y
        frame = X.assign(**{y.name: y})
    else:
        if "." not in data and "/" not in data:
            datasets.load(data)
        from bayesnb import files

        frame = files.read(data)
    columns = list(map(str, frame.columns))
    if target is None:
        raise click.UsageError(f"name the column that holds the class with --target; {data} has {columns}")
    if target not in frame.columns:
        raise ValueError(f"{data} has no column {target!r}; its columns are {columns}")
    if frame[target].isna().all():
        raise ValueError(f"column {target!r} of {data} is missing in every row: there is nothing to learn from")
    unlabelled = frame[target].isna()
    if unlabelled.any():
        _stderr()(f"{int(unlabelled.sum())} rows without a class are left out")
        frame = frame[~unlabelled]
    return data, frame.drop(columns=target), frame[target]


def _identifiers(clf: BayesianNB, n: int) -> list[Any]:
    """Categorical columns with nearly a level a row."""
    return [
        name
        for name, feature in clf.schema_.features.items()
        if feature.levels is not None and feature.cuts is None and len(feature.levels[0]) > max(3, 0.8 * n)
    ]


def _asked(rows: Sequence[str], name: str, X: pd.DataFrame) -> list[dict[str, Any]]:
    """The asked rows, each value read as its column's type."""
    rows = rows or ((TEXTBOOK_ROWS[name],) if name in TEXTBOOK_ROWS else ())
    if not rows:
        return [X.iloc[0].to_dict()]
    return [_parse(row, X) for row in rows]


def _parse(row: str, X: pd.DataFrame) -> dict[str, Any]:
    values = {}
    for item in row.split(","):
        column, equals, text = (part.strip() for part in item.partition("="))
        if not equals:
            raise click.BadParameter(f"{item!r} is not column=value", param_hint="--row")
        if column not in X.columns:
            raise click.BadParameter(
                f"there is no column {column!r}; the columns are {list(map(str, X.columns))}", param_hint="--row"
            )
        if column in values:
            raise click.BadParameter(f"column {column!r} is named twice", param_hint="--row")
        values[column] = _typed(text, X[column], column)
    return values


def _typed(text: str, column: pd.Series, name: str) -> Any:
    """The text as a value of the column's type; empty is missing."""
    from pandas.api import types

    if not text:
        return None
    if types.is_bool_dtype(column):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise click.BadParameter(f"{name}={text}: the column holds true and false", param_hint="--row")
    if types.is_numeric_dtype(column):
        try:
            number = float(text)
        except ValueError:
            number = float("inf")
        if abs(number) == float("inf"):
            raise click.BadParameter(f"{name}={text}: the column holds finite numbers", param_hint="--row")
        return number
    return text


def _answer(clf: BayesianNB, X: pd.DataFrame, row: Mapping[str, Any], draws: int, prob: float) -> dict[str, Any]:
    """Each estimate's probabilities of one row by class, and the interval over draws."""
    import numpy as np

    from bayesnb.model import ESTIMATES, ImpossibleRowError, normalize
    from bayesnb.priors import BoundaryError, ImproperError

    frame = _frame([row], X)
    data, n = clf._encoded(frame)
    labels = [str(label) for label in clf.classes_]
    estimates: dict[str, Any] = {}
    for estimate in ESTIMATES:
        try:
            proba = np.exp(normalize(clf.posterior_.log_joint(data, n, estimate)))[0]
            estimates[estimate] = dict(zip(labels, map(float, proba), strict=True))
        except (BoundaryError, ImproperError, ImpossibleRowError) as error:
            estimates[estimate] = str(error)
    tail = (1 - prob) / 2
    low, middle, high = np.quantile(clf.sample_proba(frame, draws)[:, 0], [tail, 0.5, 1 - tail], axis=0)
    interval = {
        label: {"lower": float(low[c]), "median": float(middle[c]), "upper": float(high[c])}
        for c, label in enumerate(labels)
    }
    return {"estimates": estimates, "interval": interval}


def _sampled(
    clf: BayesianNB, X: pd.DataFrame, asked: list[dict[str, Any]], answers: list[dict[str, Any]], say: Any
) -> dict[str, Any]:
    """Sample the model, add the sampled predictive to each answer, and say whether the two roads agree."""
    import time

    import numpy as np

    from bayesnb.agreement import ConvergenceError

    frame = _frame(asked, X)
    begin = time.perf_counter()
    clf.predict_proba(frame)
    closed = time.perf_counter() - begin
    say("sampling with NUTS (the first run compiles the model)")
    begin = time.perf_counter()
    try:
        agreement = clf.verify(frame)
    except ConvergenceError as error:
        return {
            "verdict": str(error), "agrees": None, "exit": 4,
            "seconds_closed": closed, "seconds_nuts": time.perf_counter() - begin,
        }  # fmt: skip
    labels = [str(label) for label in clf.classes_]
    sampled = agreement.plug_ins["sampled"].to_numpy().reshape(len(asked), len(labels))
    for answer, proba in zip(answers, sampled, strict=True):
        answer["estimates"]["sampled (NUTS)"] = dict(zip(labels, map(float, np.asarray(proba)), strict=True))
    return {
        "verdict": str(agreement),
        "agrees": agreement.agrees,
        "exit": 0 if agreement.agrees else 5,
        "seconds_closed": closed,
        "seconds_nuts": time.perf_counter() - begin,
    }


def _class(clf: BayesianNB, text: str | None, option: str) -> Any:
    """The class that is written so."""
    if text is None:
        return None
    for label in clf.classes_.tolist():
        if str(label) == text:
            return label
    raise click.BadParameter(
        f"there is no class {text!r}; the classes are {list(map(str, clf.classes_))}", param_hint=option
    )


def _frame(rows: Sequence[Mapping[str, Any]], X: pd.DataFrame) -> pd.DataFrame:
    """Asked rows as a table of the fitted columns, what they do not name missing."""
    import pandas as pd

    columns = {}
    for name in X.columns:
        dtype = X[name].dtype
        # A row that is asked may lack a value, or lie between integers.
        wide = {"i": "float64", "u": "float64", "b": "boolean"}.get(getattr(dtype, "kind", "O"), dtype)
        columns[name] = pd.Series([row.get(name) for row in rows], dtype=wide)
    return pd.DataFrame(columns)


def _stderr() -> Any:
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    return lambda text: console.print(text, style="dim", markup=False, soft_wrap=True)


def _print_json(
    name: str,
    target: Any,
    how: str,
    described: pd.DataFrame,
    table: pd.DataFrame,
    asked: list[dict[str, Any]],
    answers: list[dict[str, Any]],
    prob: float,
    roads: dict[str, Any] | None,
) -> None:
    import json

    rows = [{"row": _plain(row), "prob": prob, **answer} for row, answer in zip(asked, answers, strict=True)]
    document = {
        "data": name,
        "target": str(target),
        "features": _records(described),
        "scored_by": how,
        "scores": _records(table),
        "rows": rows,
    } | ({} if roads is None else {"nuts": roads})
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def _plain(record: Mapping[Any, Any]) -> dict[str, Any]:
    """JSON has no infinity and no NaN: they are written as text and null."""
    found = {}
    for name, value in record.items():
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, float) and not abs(value) < float("inf"):
            value = None if value != value else str(value)
        found[str(name)] = value
    return found


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [_plain(record) for record in frame.reset_index().to_dict("records")]


def _print_ledger_json(
    name: str, target: Any, asked: dict[str, Any], proba: dict[str, float], ledger: pd.DataFrame, unit: str, prob: float
) -> None:
    import json

    document = {
        "data": name,
        "target": str(target),
        "row": _plain(asked),
        "probabilities": proba,
        **_plain(ledger.iloc[0][["label", "against"]]),
        "unit": unit,
        "prob": prob,
        "entries": _records(ledger.drop(columns=["label", "against"])),
    }
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def _print_ledger(asked: dict[str, Any], ledger: pd.DataFrame, unit: str, prob: float) -> None:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    label, against = ledger.iloc[0][["label", "against"]]
    console.print("The row " + ", ".join(f"{k}={v}" for k, v in asked.items()), style="bold", markup=False)
    grid = Grid()
    for title in ("entry", "value"):
        grid.add_column(title, overflow="fold")
    for title in (f"log-odds [{unit}]", "lower", "upper"):
        grid.add_column(Text(title), justify="right")
    sides = [f"{name[:9]}…" if len(name) > 10 else name for name in map(str, (against, label))]
    grid.add_column(Text(f"{sides[0] + ' ←':>12}│{'→ ' + sides[1]:<12}"), no_wrap=True)
    finite = [abs(v) for v in ledger["log_odds"] if abs(v) < float("inf")]
    widest = max(finite, default=0.0) or 1.0
    for k, (entry, line) in enumerate(ledger.iterrows()):
        if k == len(ledger) - 1:
            grid.add_section()
        value = "missing" if line["missing"] else "" if line["value"] is None else _cell(line["value"])
        numbers = [Text(_shown(float(line[k]), 3)) for k in ("log_odds", "lower", "upper")]
        grid.add_row(Text(str(entry)), Text(value), *numbers, _bar(line["log_odds"] / widest))
    console.print(grid)
    console.print(
        f"log-odds of {label} against {against}; the entries sum to the total; lower and upper: {prob:.0%} interval "
        "under the posterior of the parameters",
        markup=False,
    )


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bar(share: float, half: int = 12) -> Any:
    """A signed bar: to the right where the share of the largest is positive; with an arrow if it is infinite."""
    from rich.text import Text

    size = min(abs(share), 1.0) * half
    bar = "█" * int(size) + ("▌" if size % 1 >= 0.5 else "")
    endless = abs(share) == float("inf")
    if share < 0:
        # The half block that fills its right side.
        bar = bar[::-1].replace("▌", "▐")
        bar = "◀" + bar[1:] if endless else bar
        return Text.assemble((bar.rjust(half), "dark_orange3"), "│", " " * half)
    bar = bar[:-1] + "▶" if endless else bar
    return Text.assemble(" " * half, "│", (bar.ljust(half), "blue"))


def _print_tables(
    how: str,
    described: pd.DataFrame,
    table: pd.DataFrame,
    asked: list[dict[str, Any]],
    answers: list[dict[str, Any]],
    prob: float,
    draws: int,
) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print("What each column got", style="bold")
    console.print(_grid(described.reset_index().astype(object), 3))
    shown = table.reset_index().drop(columns="note")
    shown = shown.drop(columns="impossible") if not table["impossible"].fillna(0).any() else shown
    console.print(f"\nEach estimate on rows it has not seen ({how})", style="bold")
    console.print(_grid(shown, 4))
    for estimate, note in table["note"].items():
        if note:
            console.print(f"{estimate}: {note}", markup=False)
    for row, answer in zip(asked, answers, strict=True):
        said = ", ".join(f"{column}={value}" for column, value in row.items())
        console.print(f"\nThe row {said}", style="bold", markup=False)
        console.print(_row_grid(answer, prob))
        console.print(f"interval: p(class | row, θ) over {draws} exact posterior draws of θ", markup=False)


def _grid(frame: pd.DataFrame, digits: int) -> Any:
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid()
    for name in frame.columns:
        number = all(isinstance(v, int | float) for v in frame[name])
        grid.add_column(Text(str(name)), justify="right" if number else "left", overflow="fold")
    for _, record in frame.iterrows():
        grid.add_row(*(Text(_shown(value, digits)) for value in record))
    return grid


def _shown(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return "—" if value != value else f"{value:.{digits}f}"
    return str(value)


def _row_grid(answer: Mapping[str, Any], prob: float) -> Any:
    import pandas as pd

    labels = list(answer["interval"])
    records = []
    for estimate, proba in answer["estimates"].items():
        said = dict.fromkeys(labels, float("nan")) if isinstance(proba, str) else proba
        records.append({"estimate": estimate, **{f"p({label})": said[label] for label in labels}})
    for what in ("lower", "median", "upper"):
        values = {f"p({label})": answer["interval"][label][what] for label in labels}
        records.append({"estimate": "median of p" if what == "median" else f"{prob:.0%} interval, {what}", **values})
    return _grid(pd.DataFrame(records), 3)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    arguments = list(sys.argv[1:] if args is None else args)
    try:
        sys.exit(cli.main(arguments, prog_name="bayesnb", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (ValueError, TypeError, ArithmeticError, OSError, MemoryError) as error:
        if "--debug" in arguments:
            raise
        click.echo(f"bayesnb: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
