"""``bayesnb compare``: each estimate beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options
from bayesnb.cli.advising import fit_command
from bayesnb.cli.printing import grid_of, plain, print_document, records_of, row_grid
from bayesnb.cli.rows import asked_rows, frame_of
from bayesnb.cli.scoring import LEGEND, document_of, shown_scores
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import fitted
from bayesnb.cli.terminal import console_of, say, stdout, visible
from bayesnb.cli.wording import in_options
from bayesnb.estimates import ESTIMATES

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.format import Format
    from bayesnb.estimator import BayesianNB
    from bayesnb.evaluation import Comparison


@click.command(epilog=options.EMBEDDED)
@click.argument("data", metavar="DATA")
@options.target
@click.option(
    "--row", "rows", multiple=True, metavar="K=V,K=V|JSON",
    help="A row to predict; columns not named are missing. May be repeated.  [default: the textbook's, else the first]",
)  # fmt: skip
@options.row_values
@options.cv
@options.scored_rows
@options.dependences
@options.naive_settings
@options.draws("Exact draws for intervals of more than two classes.")
@options.prob("Probability of the intervals.")
@click.option("--nuts", is_flag=True, help="Also sample the PyMC model with NUTS, and hold the two roads together.")
@options.seed
@options.layout("table", "json", "csv", help="json holds everything, csv the scores.")
@options.file_format
def compare(
    data: str, target: str | None, rows: tuple[str, ...], values: tuple[str, ...], cv: int | None, most: int,
    dependences: tuple[str, ...], settings: Settings, draws: int, prob: float, nuts: bool, seed: int, layout: str,
    format: Format,
) -> int:  # fmt: skip
    """Compare maximum likelihood, MAP, posterior mean and full Bayes on one table, and what dependence changes.

    DATA is the name of an embedded data set, or a path as for `fit`. Printed are one sentence, the scores of full Bayes
    with their yardsticks, the family of each column, the scores of each estimate on rows it has not seen, and the
    probabilities of the asked rows with the interval of p(class | row, parameters) under the posterior. At the end
    stands which of the models to take, and the command that fits it.

    Beside the four estimates of naive Bayes stand models whose columns may depend on each other. They are scored by
    five folds; by two from 65,536 rows on; and where the scored rows are a fifth of all or fewer, by one fit without
    them.
    """
    from bayesnb.evaluation import comparison

    learned = fitted(data, target, format, settings, seed)
    name, X, y, clf = learned.name, learned.X, learned.y, learned.clf
    asked = asked_rows(rows, name, X, values)
    dependence = tuple(name for name in dependences if name != "none")
    say(f"scoring by {f'{cv} folds' if cv else 'exact leave-one-out'}")
    compared = comparison(clf, X, y, cv or "loo", dependence, most, seed, prob)
    table = compared.table
    others = dependent_of(clf, X, y, dependence)
    answers = [answer_of(clf, X, row, draws, prob, others) for row in asked]
    roads = by_nuts(clf, X, asked, answers) if nuts else None
    described = clf.describe()
    take = compared.take()
    chosen = {"estimate": take} if take in ESTIMATES else {"settings": replace(settings, dependence=take)}
    command = fit_command(data, str(y.name), format, **{"settings": settings} | chosen)
    if layout == "json":
        each = [{"row": plain(row), "prob": prob, **answer} for row, answer in zip(asked, answers, strict=True)]
        document = {"data": name, "target": str(y.name), "features": records_of(described), "scored_by": compared.how}
        document |= {"sentence": in_options(compared.sentence), "scores": records_of(table), "worse": compared.worse}
        document |= {"take": compared.take(), "fit": command}
        document |= {"full_bayes": document_of(compared.card()) if "predictive" in compared.answers else None}
        document |= {"rows": each}
        print_document(document if roads is None else document | {"nuts": roads})
    elif layout == "csv":
        stdout().write(table.to_csv())
    else:
        by = "by the saddlepoint formula" if len(clf.classes_) == 2 else f"over {draws} exact posterior draws of θ"
        print_tables(compared, described, asked, answers, prob, by, command)
        if roads is not None:
            closed, sampled = 1000 * roads["seconds_closed"], roads["seconds_nuts"]
            verdict = visible(roads["verdict"], keep="\n")
            click.echo(f"\n{verdict}\nclosed form {closed:.0f} ms; NUTS {sampled:.0f} s, compiling included")
    return 0 if roads is None else roads["exit"]


def print_tables(
    compared: Comparison, described: pd.DataFrame, asked: Sequence[Mapping[str, Any]],
    answers: Sequence[Mapping[str, Any]], prob: float, by: str, command: str,
) -> None:  # fmt: skip
    """Print the results as tables."""
    console = console_of()
    if "predictive" in compared.answers:
        console.print(visible(in_options(compared.card().sentence)), style="bold", markup=False)
        console.print(grid_of(shown_scores(compared.card()), 3, console.width))
        console.print(f"Full Bayes, scored by {compared.how}. {LEGEND}", style="dim", markup=False)
    console.print("\nWhat each column got", style="bold")
    shown = described.drop(columns="columns") if (described["columns"] == 1).all() else described
    console.print(grid_of(shown.reset_index().astype(object), 3, console.width))
    console.print(f"\nEach estimate on rows it has not seen ({compared.how})", style="bold")
    console.print(grid_of(shown_estimates(compared), 3 if len(compared.codes) < 20_000 else 4, console.width))
    console.print(visible(meaning_of(compared)), style="dim", markup=False)
    for estimate, note in compared.table["note"].items():
        if note:
            console.print(visible(f"{estimate}: {note}"), markup=False)
    for row, answer in zip(asked, answers, strict=True):
        said = ", ".join(f"{column}={value}" for column, value in row.items())
        console.print(f"\nThe row {visible(said)}", style="bold", markup=False)
        console.print(row_grid(answer, prob, console.width))
        console.print(f"interval: p(class | row, θ) of naive Bayes, {by}", markup=False)
    console.print(f"\n{visible(in_options(compared.advice()))}", style="bold", markup=False)
    console.print(visible(command), markup=False, soft_wrap=True)


def shown_estimates(compared: Comparison) -> pd.DataFrame:
    """The scores of each estimate, as texts: narrow enough for 80 columns."""
    import pandas as pd

    many = len(compared.codes) >= 20_000
    digits = 0 if len(compared.codes) < 1000 else 2 if many else 1
    lines = []
    for name, line in compared.table.iterrows():
        score = line.drop("note").astype(float)
        right, lower, upper = (f"{100 * score[k]:.{digits}f}" for k in ("accuracy", "accuracy_lower", "accuracy_upper"))
        there = not line["note"] or score.notna().any()
        lines.append({
            "estimate": f"{name} *" if name in compared.worse else str(name),
            "right in": f"{right}% ({lower}–{upper})" if there else "—",
            "log loss": score["log_loss"],
            "behind the best": _behind(score["difference"], score["se_difference"], 5 if many else 3) if there else "—",
            "Brier": score["brier"],
            "ECE": score["ece"],
            "AUC": score["auc"],
            "from full Bayes": score.get("from_predictive", float("nan")),
        })  # fmt: skip
        if score.get("impossible", 0) > 0:
            lines[-1]["impossible rows"] = int(score["impossible"])
    found = pd.DataFrame(lines)
    return found.fillna({"impossible rows": 0}) if "impossible rows" in found else found


def _behind(difference: float, se: float, digits: int) -> str:
    return "∞" if difference == float("inf") else f"{difference:.{digits}f} ±{se:.{digits}f}"


def meaning_of(compared: Comparison) -> str:
    """What the columns mean, and which estimates are credibly worse than the best."""
    worse = compared.worse
    if worse:
        verdict = f"* credibly worse than {compared.best}, by more than two standard errors."
    else:
        verdict = "None is credibly worse than the best, by more than two standard errors."
    return (
        f"{verdict} right in: accuracy in percent, with its {compared.prob:.0%} interval. behind the best: how much "
        "more log loss a row has than with the best estimate, and the standard error of that, from the differences of "
        "the same rows. from full Bayes: the largest difference of a probability from that of the predictive."
    )


def dependent_of(clf: BayesianNB, X: pd.DataFrame, y: pd.Series, names: Sequence[str]) -> dict[str, BayesianNB | str]:
    """The same table learned with each dependence, or the reason why it cannot be."""
    from sklearn.base import clone

    found: dict[str, BayesianNB | str] = {}
    for name in names:
        say(f"learning --dependence {name}")
        try:
            found[name] = clone(clf).set_params(dependence=name).fit(X, y)
        except ValueError as error:
            found[name] = str(error)
    return found


def answer_of(
    clf: BayesianNB, X: pd.DataFrame, row: Mapping[str, Any], draws: int, prob: float,
    others: Mapping[str, BayesianNB | str],
) -> dict[str, Any]:  # fmt: skip
    """The probabilities of one row by class, by each estimate and by others, and the interval of p(class | row, θ)."""
    from bayesnb.model import ESTIMATES, ImpossibleRowError
    from bayesnb.priors import BoundaryError, ImproperError

    frame = frame_of([row], X)
    labels = [str(label) for label in clf.classes_]
    estimates: dict[str, Any] = {}
    for estimate in ESTIMATES:
        try:
            proba = clf.classifier_.with_estimate(estimate).predict_proba(frame)[0]
            estimates[estimate] = dict(zip(labels, map(float, proba), strict=True))
        except (BoundaryError, ImproperError, ImpossibleRowError) as error:
            estimates[estimate] = str(error)
    for name, other in others.items():
        message = isinstance(other, str)
        estimates[name] = (
            other if message else dict(zip(labels, map(float, other.predict_proba(frame)[0]), strict=True))
        )
    ends = clf.predict_interval(frame, prob, draws=draws).iloc[0]
    interval = {label: ends[c].astype(float).to_dict() for label, c in zip(labels, clf.classes_, strict=True)}
    return {"estimates": estimates, "interval": interval}


def by_nuts(
    clf: BayesianNB, X: pd.DataFrame, asked: list[dict[str, Any]], answers: list[dict[str, Any]]
) -> dict[str, Any]:
    """Sample the model, add the sampled predictive to each answer, and say whether the two roads agree."""
    import time

    import numpy as np

    from bayesnb.sampling.agreement import ConvergenceError

    frame = frame_of(asked, X)
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
