"""``bayesnb compare``: each estimate beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options
from bayesnb.cli.printing import plain, print_document, print_tables, records_of
from bayesnb.cli.rows import asked_rows, frame_of
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import fitted
from bayesnb.cli.terminal import say, stdout, visible

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.estimator import BayesianNB


@click.command(epilog=options.EMBEDDED)
@click.argument("data", metavar="DATA")
@options.target
@click.option(
    "--row", "rows", multiple=True, metavar="K=V,K=V|JSON",
    help="A row to predict; columns not named are missing. May be repeated.  [default: the textbook's, else the first]",
)  # fmt: skip
@options.row_values
@click.option("--cv", type=click.IntRange(2), help="Score by this many folds instead of exact leave-one-out.")
@options.dependences
@options.naive_settings
@options.draws("Exact draws for intervals of more than two classes.")
@options.prob("Probability of the intervals.")
@click.option("--nuts", is_flag=True, help="Also sample the PyMC model with NUTS, and hold the two roads together.")
@options.seed
@options.layout("table", "json", "csv", help="json holds everything, csv the scores.")
@options.file_format
def compare(
    data: str, target: str | None, rows: tuple[str, ...], values: tuple[str, ...], cv: int | None,
    dependences: tuple[str, ...], settings: Settings, draws: int, prob: float, nuts: bool, seed: int, layout: str,
    format: Format,
) -> int:  # fmt: skip
    """Compare maximum likelihood, MAP, posterior mean and full Bayes on one table, and what dependence changes.

    DATA is the name of an embedded data set, or a path as for `fit`. Printed are the family of each
    column, the scores of each estimate on rows it has not seen, and the probabilities of the asked rows with
    the interval of p(class | row, parameters) under the posterior.

    Beside the four estimates of naive Bayes stand models whose columns may depend on each other. Each is fitted six
    times, five of them to score it: with 30 columns of 569 rows "pairwise" takes about ten seconds.
    """
    from bayesnb.evaluation import compare_estimates

    name, X, y, clf = fitted(data, target, format, settings, seed)
    asked = asked_rows(rows, name, X, values)
    dependence = tuple(name for name in dependences if name != "none")
    say(f"scoring by {f'{cv} folds' if cv else 'exact leave-one-out'}")
    table = compare_estimates(clf, X, y, cv or "loo", dependence)
    others = dependent_of(clf, X, y, dependence)
    answers = [answer_of(clf, X, row, draws, prob, others) for row in asked]
    roads = by_nuts(clf, X, asked, answers) if nuts else None
    described = clf.describe()
    how = f"{cv}-fold cross-validation" if cv else "exact leave-one-out"
    if layout == "json":
        each = [{"row": plain(row), "prob": prob, **answer} for row, answer in zip(asked, answers, strict=True)]
        document = {"data": name, "target": str(y.name), "features": records_of(described), "scored_by": how}
        document |= {"scores": records_of(table), "rows": each}
        print_document(document if roads is None else document | {"nuts": roads})
    elif layout == "csv":
        stdout().write(table.to_csv())
    else:
        by = "by the saddlepoint formula" if len(clf.classes_) == 2 else f"over {draws} exact posterior draws of θ"
        print_tables(how, described, table, asked, answers, prob, by)
        if roads is not None:
            closed, sampled = 1000 * roads["seconds_closed"], roads["seconds_nuts"]
            verdict = visible(roads["verdict"], keep="\n")
            click.echo(f"\n{verdict}\nclosed form {closed:.0f} ms; NUTS {sampled:.0f} s, compiling included")
    return 0 if roads is None else roads["exit"]


def dependent_of(clf: BayesianNB, X: pd.DataFrame, y: pd.Series, names: Sequence[str]) -> dict[str, BayesianNB | str]:
    """The same table learned with each dependence, or the reason why it cannot be."""
    from sklearn.base import clone

    found: dict[str, BayesianNB | str] = {}
    for name in names:
        say(f'learning dependence="{name}"')
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
