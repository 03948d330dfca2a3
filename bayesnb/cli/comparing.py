"""``bayesnb compare``: scores of estimates, and of models with dependence, on held-out rows; and one prediction."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesnb.cli import options, printing
from bayesnb.cli.models import fitted
from bayesnb.cli.rows import asked_rows, frame_of, warn_of_far
from bayesnb.cli.settings import Settings, fit_command
from bayesnb.cli.terminal import say
from bayesnb.progress import counted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.evaluation import Folds
    from bayesnb.inference.classifier import Classifier
    from bayesnb.learning import EstimatorParameters

COMPARED = (
    "bayesnb.evaluation.estimates:compare_estimates bayesnb.inference.intervals:predict_interval "
    "bayesnb.inference.further_rows:worth_of_rows"
)
"""Functions whose parameters are options of ``compare``."""


@options.command("DATA", COMPARED, options.EMBEDDED, settings="naive")
def compare(
    data: str, target: str | None, asked: tuple[str, ...], values: tuple[str, ...], cv: Folds, rows: int,
    more: list[int] | None, dependences: tuple[str, ...], settings: Settings, draws: int, prob: float, nuts: bool,
    random_state: int, everything: bool, layout: str, format: Format,
) -> int:  # fmt: skip
    """Compare estimates (MAP, full Bayes, ...) and dependence models.

    The estimates are maximum likelihood, MAP, posterior mean and full Bayes. DATA is the name of an embedded data set,
    or a path as for `fit`. The output begins with the recommended model and its score on held-out rows, and ends with
    the command that fits this model, with the options that `inspect` advises. One table shows the scores of the
    estimates and of the models with dependence. Another table shows how much each value of one row contributes to the
    prediction. --row or --set specifies the row; the default is the held-out row whose true class is least probable
    under naive Bayes.

    Models with dependence are scored by 5-fold cross-validation, or 2-fold with 65,536 rows or more. With up to 600
    rows, --dependence auto is scored by the same held-out rows that determine the weights of the averaged models. If at
    most a fifth of all rows is scored, each model is fitted only once, to the rows that are not scored. --all adds all
    scores, and the family of each column. --all also adds the class probabilities of the row under each model; those of
    naive Bayes have posterior intervals. A held-out row is predicted by models that have not learned it. --more shows
    how further rows would improve the recommended model.
    """
    import numpy as np

    from bayesnb.evaluation import comparison
    from bayesnb.evaluation.folds import require_folds
    from bayesnb.findings import marks_of
    from bayesnb.inference.questions import QUESTIONS
    from bayesnb.report import scores
    from bayesnb.report.parts import Section, row_text
    from bayesnb.report.questions import section_of

    learned = fitted(
        data, target, format, replace(settings, dependence="none", absent="missing"), random_state,
        check=lambda name, X, labels, _: (require_folds(labels, cv), asked_rows(asked, name, X, values)),
    )  # fmt: skip
    name, X, y, clf = learned.name, learned.X, learned.y, learned.clf
    (_, each_row), held_out = learned.checked, None
    names = tuple(name for name in dependences if name != "none")
    others = f", and {' and '.join(names)} by folds" if names and cv == "loo" else ""
    say(f"scoring by {'exact leave-one-out' if cv == 'loo' else f'{cv} folds'}{others}")
    compared = comparison(learned.parameters, X, y, cv, names, rows, random_state, prob, "auto")
    if not each_row:
        held_out = compared.most_surprising
        each_row = [X.iloc[held_out].to_dict()]
    take = compared.recommended
    # A fit takes as long as one of the five folds, so only models that are shown are fitted.
    shown = layout == "json" or (layout == "table" and (everything or bool(asked or values) or nuts))
    kept = np.arange(len(X)) != (len(X) if held_out is None else held_out)
    model = clf if held_out is None else _without(learned.parameters, clf, X, y, ~kept)
    place = None if held_out is None else X.index[held_out]  # The number of the row in the table.
    frames = [frame_of([row], X).set_axis([k if place is None else place]) for k, row in enumerate(each_row)]
    if each_row and layout == "table":
        warn_of_far(model, frames[0])
    others = _with_each(learned.parameters, X[kept], y[kept], names if shown else ())
    each_frame = frames if shown or nuts else []
    answers = [_answers_of_row(model, frame, others, prob, draws) for frame in each_frame]
    roads = _by_nuts(model, X, each_row, answers) if nuts else None
    worth_of_more = None
    if more:
        from bayesnb import design

        say("drawing further rows")
        recommended = _with_each(learned.parameters, X, y, (take,) if take in names else ()).get(take, clf)
        worth_of_more = design.worth_of_rows(recommended, [0, *more], X, y, prob=prob)
    marks, advised = marks_of(learned.remarks), settings.advised(learned.remarks)
    chosen = replace(advised, dependence=take if take in names else "none")
    read = replace(format, na=(*format.na, *marks))
    command = fit_command(data, str(y.name), read, chosen, "predictive" if take in names else take)
    known = {} if held_out is None else {"held_out": place, "class": str(y.iloc[held_out])}
    known |= {"prob": prob}
    each = [{"row": row, **known, **answer} for row, answer in zip(each_row, answers, strict=bool(answers))]
    document = {"data": name, "target": str(y.name), "features": clf.describe()}
    document |= {"scored_by": str(compared.how["predictive"])}
    document |= {"sentence": compared.finding, "scores": compared.table, "worse": compared.worse}
    document |= {"recommended": take, "fit": command, "scorecard": compared.card().document}
    document |= {} if worth_of_more is None else {"more": {"table": worth_of_more, **worth_of_more.attrs}}
    document |= {"rows": each} | ({} if roads is None else {"nuts": roads})

    def screen() -> list[Section]:
        more_rows = [] if worth_of_more is None else [scores.more_rows(worth_of_more, compared)]
        how = "by the saddlepoint formula" if len(clf.classes_) == 2 else f"over {draws} exact posterior draws of θ"
        truth = None if held_out is None else y.iloc[held_out]
        row = scores.explained_row(model, frames[0], place, truth, prob)
        rows_of_estimates = [
            scores.estimates_of_row(row_text(row, clf.schema.decimals), answer, prob, how, place)
            for row, answer in zip(each_row, answers, strict=bool(answers))
        ]
        by_sampling = []
        if roads is not None:
            took = f"closed form {1000 * roads['seconds_closed']:.0f} ms; NUTS {roads['seconds_nuts']:.0f} s"
            by_sampling = [Section("", [f"{took}, compiling included"], roads["verdict"])]
        if not everything:
            row_sections = rows_of_estimates if asked or values or by_sampling else []
            first = [Section("", [], compared.finding), row, scores.four_estimates(compared)]
            return [*first, *more_rows, *row_sections, *by_sampling]
        worth = scores.worth(compared.card())
        sections = [replace(worth, lead=compared.finding, parts=worth.parts[:2])]
        sections += [section_of(QUESTIONS["describe"], clf.describe()), scores.estimates(compared), *more_rows]
        return [*sections, row, *rows_of_estimates, *by_sampling, Section("", [], compared.recommendation)]

    texts = {name for name, feature in clf.schema.features.items() if feature.text is not None}
    unlike = {each for each in advised.feature if each.rpartition("=")[0] not in texts} - {*settings.feature}
    options_of = (("--drop", [*advised.drop][len(settings.drop) :]), ("--feature", sorted(unlike)), ("--na", marks))
    said = [" ".join(f"{option} {shlex.quote(each)}" for each in every) for option, every in options_of if every]
    if said and layout == "table":
        # Only the user knows what a marker means.
        said[-1] += f" if {'these texts mean' if len(marks) > 1 else 'this text means'} missing" * bool(marks)
        say(
            "the last line adds options that inspect advises and these scores do not use; to score them, add "
            f"{', and '.join(said)}"
        )
    printing.print_answer(layout, document, compared.table, screen)
    if layout == "table":
        printing.print_command(command)
    return 0 if roads is None else roads["exit"]


def _with_each(
    asked: EstimatorParameters, X: pd.DataFrame, y: pd.Series, names: Sequence[str]
) -> dict[str, Classifier | str]:
    from bayesnb import learning

    found: dict[str, Classifier | str] = {}
    for name in counted("learning dependences", names, "models"):
        say(f"learning --dependence {name}")
        try:
            found[name] = learning.fitted(replace(asked, dependence=name), X, y)
        except ValueError as error:
            found[name] = str(error)
    return found


def _answers_of_row(
    clf: Classifier, row: pd.DataFrame, others: Mapping[str, Classifier | str], prob: float, draws: int
) -> dict[str, Any]:
    from bayesnb.model import ESTIMATES
    from bayesnb.wording import RefusedError, rows_at

    labels = [str(label) for label in clf.classes_]
    # If a model or its probabilities do not exist, a text in their place gives the reason.
    estimates: dict[str, Any] = {}
    for name in (*ESTIMATES, *others):
        try:
            model = others.get(name) or clf.with_estimate(name)
            with rows_at(row.index):
                proba = None if isinstance(model, str) else map(float, model.predict_proba(row)[0])
            estimates[name] = model if proba is None else dict(zip(labels, proba, strict=True))
        except RefusedError as error:
            estimates[name] = str(error)
    ends = clf.predict_interval(row, prob, draws=draws).iloc[0]
    interval = {label: ends[c].astype(float).to_dict() for label, c in zip(labels, clf.classes_, strict=True)}
    return {"estimates": estimates, "interval": interval}


def _without(
    parameters: EstimatorParameters, clf: Classifier, X: pd.DataFrame, y: pd.Series, rows: np.ndarray
) -> Classifier:
    from bayesnb import learning

    try:
        return learning.without_rows(parameters, clf, X[rows], y[rows])
    except ValueError:
        return learning.fitted(parameters, X[~rows], y[~rows])


def _by_nuts(
    clf: Classifier, X: pd.DataFrame, asked: list[dict[str, Any]], answers: list[dict[str, Any]]
) -> dict[str, Any]:
    from bayesnb.sampling.agreement import ConvergenceError

    frame = frame_of(asked, X)
    begin = time.perf_counter()
    clf.predict_proba(frame)
    closed = time.perf_counter() - begin
    say("sampling with NUTS (the first run compiles the model)")
    begin = time.perf_counter()
    try:
        agreement = clf.verify(frame)
        said = {"verdict": str(agreement), "agrees": agreement.agrees, "exit": 0 if agreement.agrees else 5}
        labels = [str(label) for label in clf.classes_]
        sampled = agreement.plug_ins["sampled"].to_numpy().reshape(len(asked), len(labels))
        for answer, proba in zip(answers, sampled, strict=True):
            answer["estimates"]["sampled (NUTS)"] = dict(zip(labels, map(float, proba), strict=True))
    except ConvergenceError as error:
        said = {"verdict": str(error), "agrees": None, "exit": 4}
    return said | {"seconds_closed": closed, "seconds_nuts": time.perf_counter() - begin}
