"""``bayesnb compare``, ``score``, ``audit`` and ``report``: how good a model is, and which rows contradict it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesnb.cli import options
from bayesnb.cli.outputs import OWN_PICTURE, is_picture, require_output
from bayesnb.cli.printing import print_answer, print_command
from bayesnb.cli.rows import asked_rows, frame_of, load_model
from bayesnb.cli.settings import Settings, fit_command
from bayesnb.cli.sources import fitted, load, opened_for
from bayesnb.cli.terminal import say, stdout, warn
from bayesnb.estimates import ESTIMATES
from bayesnb.progress import counted
from bayesnb.wording import nearest

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.evaluation import Folds
    from bayesnb.inference.classifier import Classifier
    from bayesnb.inference.independence import Independence
    from bayesnb.inference.scorecard import Scorecard
    from bayesnb.learning import EstimatorParameters
    from bayesnb.report.parts import Section

COMPARED = (
    "bayesnb.evaluation.estimates:compare_estimates bayesnb.inference.intervals:predict_interval "
    "bayesnb.inference.further_rows:worth_of_rows"
)
"""Functions whose parameters are options of ``compare``."""

FOOTNOTE = (
    "mle and map are the same under the priors that features have by default (the mode under Dirichlet(1) is the "
    "relative frequency), and mean and predictive are the same where a row has one value for each parameter, as for "
    "levels. They differ for numbers: bayesnb compare heights."
)


@options.command("DATA", COMPARED, options.EMBEDDED, settings="naive")
def compare(
    data: str, target: str | None, asked: tuple[str, ...], values: tuple[str, ...], cv: Folds, rows: int,
    more: list[int] | None, dependences: tuple[str, ...], settings: Settings, draws: int, prob: float, nuts: bool,
    random_state: int, everything: bool, layout: str, format: Format,
) -> int:  # fmt: skip
    """Compare maximum likelihood, MAP, posterior mean and full Bayes on one table, and models with dependence.

    DATA is the name of an embedded data set, or a path as for `fit`. The output begins with the recommended model and
    its score on held-out rows, and ends with the command that fits this model. The output also shows the contributions
    of the values of one row, and a table that compares the four estimates with models of dependent columns. Give the
    row by --row or --set; by default, the row is the held-out row whose true class is least probable under naive Bayes.

    Models with dependence are scored by five folds; with 65,536 rows or more, by two. With up to 600 rows, "auto" is
    scored on rows that its own fit held out. If at most a fifth of all rows is scored, all scored rows are held out of
    a single fit. With --all, the output also has all scores, the family of each column, each estimate's class
    probabilities of the row, and the posterior interval of p(class | row, parameters). With --more, a table shows how
    further rows would improve the recommended model.
    """
    from bayesnb import design
    from bayesnb.evaluation import comparison
    from bayesnb.inference.questions import QUESTIONS
    from bayesnb.report import scores
    from bayesnb.report.parts import Section
    from bayesnb.report.questions import section_of

    learned = fitted(data, target, format, replace(settings, dependence="none"), random_state)
    name, X, y, clf = learned.name, learned.X, learned.y, learned.clf
    names = tuple(name for name in dependences if name != "none")
    others = f", and {' and '.join(names)} by folds" if names and cv == "loo" else ""
    say(f"scoring by {'exact leave-one-out' if cv == 'loo' else f'{cv} folds'}{others}")
    compared = comparison(learned.parameters, X, y, cv, names, rows, random_state, prob, Settings.dependence)
    each_row, held_out = asked_rows(asked, name, X, values), None
    if not each_row:
        held_out = compared.most_surprising
        each_row = [X.iloc[held_out].to_dict()]
    take = compared.recommended
    # A fit to all rows takes as long as one of the five folds, so only models that are shown are fitted.
    shown = layout == "json" or (layout == "table" and (everything or bool(asked or values) or nuts))
    needed = names if shown else (take,) if more and take in names else ()
    others = _with_each(learned.parameters, X, y, needed)
    answers = [_answer_of(clf, X, row, draws, prob, others) for row in each_row] if shown or nuts else []
    roads = _by_nuts(clf, X, each_row, answers) if nuts else None
    worth_of_more = None
    if more:
        say("drawing further rows")
        worth_of_more = design.worth_of_rows(others.get(take, clf), [0, *more], X, y, prob=prob)
    chosen = replace(settings, dependence="none" if take in ESTIMATES else take)
    command = fit_command(data, str(y.name), format, chosen, take if take in ESTIMATES else "predictive")
    each = [{"row": row, "prob": prob, **answer} for row, answer in zip(each_row, answers, strict=bool(answers))]
    document = {
        "data": name,
        "target": str(y.name),
        "features": clf.describe(),
        "scored_by": str(compared.how["predictive"]),
    }
    document |= {"sentence": compared.finding, "scores": compared.table, "worse": compared.worse}
    document |= {"recommended": take, "fit": command, "scorecard": _document_of(compared.card())}
    document |= {} if worth_of_more is None else {"more": {"table": worth_of_more, **worth_of_more.attrs}}
    document |= {"rows": each} | ({} if roads is None else {"nuts": roads})

    def screen() -> list[Section]:
        more_rows = [] if worth_of_more is None else [scores.more_rows(worth_of_more)]
        how = "by the saddlepoint formula" if len(clf.classes_) == 2 else f"over {draws} exact posterior draws of θ"
        rows_of_estimates = [_row_section(*both, prob, how) for both in zip(each_row, answers, strict=bool(answers))]
        by_sampling = [] if roads is None else [_nuts_section(roads)]
        if not everything:
            model = clf if held_out is None else _without(learned.parameters, clf, X, y, held_out)
            truth = None if held_out is None else y.iloc[held_out]
            row = _ledger_section(model, frame_of(each_row[:1], X), held_out, truth, prob)
            row_sections = rows_of_estimates if asked or values or by_sampling else []
            first = [Section("", [], compared.finding), row, scores.four_estimates(compared)]
            return [*first, *more_rows, *row_sections, *by_sampling]
        worth = scores.worth(compared.card())
        sections = [replace(worth, lead=compared.finding, parts=worth.parts[:2])]
        sections += [section_of(QUESTIONS["describe"], clf.describe()), scores.estimates(compared), *more_rows]
        return [*sections, *rows_of_estimates, *by_sampling, Section("", [], compared.recommendation)]

    print_answer(layout, document, compared.table, screen)
    if layout == "table":
        print_command(command)
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


def _without(parameters: EstimatorParameters, clf: Classifier, X: pd.DataFrame, y: pd.Series, row: int) -> Classifier:
    from bayesnb import learning

    try:
        return learning.without_rows(parameters, clf, X.iloc[[row]], y.iloc[[row]])
    except ValueError:
        return clf


def _ledger_section(clf: Classifier, frame: pd.DataFrame, row: int | None, truth: Any, prob: float) -> Section:
    from bayesnb.report.parts import Section
    from bayesnb.report.questions import answer, ledger

    proba = clf.predict_proba(frame)[0]
    predicted = clf.classes_[proba.argmax()]
    wrong = truth is not None and truth != predicted and truth in clf.classes_
    contributions = clf.explain(frame, predicted, truth if wrong else None, prob=prob).droplevel("row")
    said = answer(proba, clf.predict_interval(frame, prob), clf.classes_, predicted, prob)
    named = ", ".join(f"{column}={value}" for column, value in frame.iloc[0].items())
    lead = f"Naive Bayes on the row {named}: {said}"
    if row is not None:
        lead = f"Naive Bayes on row {row}, left out of the fit: {said}{f' It is {truth}.' if wrong else ''}"
    legend = f"Each entry adds to the log-odds. In brackets: {prob:.0%} interval under the posterior."
    return Section("", [next(ledger(contributions, "nats")), legend], lead)


def _answer_of(
    clf: Classifier, X: pd.DataFrame, row: Mapping[str, Any], draws: int, prob: float,
    others: Mapping[str, Classifier | str],
) -> dict[str, Any]:  # fmt: skip
    from bayesnb.model import ImpossibleRowError
    from bayesnb.priors import BoundaryError, ImproperError
    from bayesnb.wording import RefusedError

    frame, labels = frame_of([row], X), [str(label) for label in clf.classes_]
    estimates: dict[str, Any] = {}
    for name in (*ESTIMATES, *others):
        try:
            model = others.get(name) or clf.with_estimate(name)
            proba = None if isinstance(model, str) else map(float, model.predict_proba(frame)[0])
            estimates[name] = model if proba is None else dict(zip(labels, proba, strict=True))
        except (BoundaryError, ImproperError, ImpossibleRowError, RefusedError) as error:
            estimates[name] = str(error)
    ends = clf.predict_interval(frame, prob, draws=draws).iloc[0]
    interval = {label: ends[c].astype(float).to_dict() for label, c in zip(labels, clf.classes_, strict=True)}
    return {"estimates": estimates, "interval": interval}


def _row_section(row: Mapping[str, Any], answer: Mapping[str, Any], prob: float, how: str) -> Section:
    import pandas as pd

    from bayesnb.report.parts import Section, TablePart

    labels, estimates = list(answer["interval"]), answer["estimates"]
    lines = {name: dict.fromkeys(labels) if isinstance(p, str) else p for name, p in estimates.items()}
    for what, said in (("lower", "interval, lower"), ("median", "median of p"), ("upper", "interval, upper")):
        name = said if what == "median" else f"{prob:.0%} {said}"
        lines[name] = {label: answer["interval"][label][what] for label in labels}
    frame = pd.DataFrame.from_dict(lines, orient="index", dtype=float).add_prefix("p(").add_suffix(")")
    shown = frame.map("{:.3f}".format).replace("nan", "—").rename_axis("estimate")
    parts: list[Any] = [TablePart(shown, ""), f"interval: p(class | row, θ) of naive Bayes, {how}."]
    if (frame.loc[["mle", "mean"]].sub(frame.loc[["map", "predictive"]].to_numpy()).abs() < 1e-9).all(axis=None):
        parts.append(FOOTNOTE)
    return Section("The row " + ", ".join(f"{column}={value}" for column, value in row.items()), parts)


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


def _nuts_section(roads: Mapping[str, Any]) -> Section:
    from bayesnb.report.parts import Section

    closed, sampled = 1000 * roads["seconds_closed"], roads["seconds_nuts"]
    return Section("", [f"closed form {closed:.0f} ms; NUTS {sampled:.0f} s, compiling included"], roads["verdict"])


@options.command(
    "MODEL TEST", "bayesnb.evaluation:scorecard", f"TEST is the name of an embedded data set, {options.FILES}.",
    absent="absent_now",
)  # fmt: skip
def score(
    model: str, test: str, target: str | None, absent: str | None, prob: float, random_state: int, layout: str,
    format: Format,
) -> int:  # fmt: skip
    """Score a model on rows that it has not learned.

    The output is one sentence, a table of scores and a confusion matrix. The table shows each score with its interval,
    the score that the model expects, and the score of the class frequencies. Rows of a class that was never learned
    are counted but not scored.
    """
    from bayesnb.data.tables import Table
    from bayesnb.data.warned import said_of, unseen_levels
    from bayesnb.evaluation import scorecard
    from bayesnb.report import scores

    clf, target = load_model(model, absent, target)
    table = opened_for(clf, test, format, target)
    if target not in table.names:
        close = nearest(target, table.names)
        hint = f"did you mean --target {close}?" if close else f"its columns are {table.names[:30]}."
        raise ValueError(
            f"{table.name} has no column {target!r}, so there is no true class to score against; {hint} "
            "bayesnb predict needs no classes"
        )
    X, y = load(table, target)
    say(f"{table.name}: {len(X)} rows, target {target!r}")
    for sentence in said_of(unseen_levels(clf.schema, Table.of(X)), len(X), clf.schema):
        warn(sentence)
    card = scorecard(clf, X, _as_learned(y, clf), cv=None, prob=prob, random_state=random_state)
    document = {"model": model, "data": table.name, "target": target} | _document_of(card)
    print_answer(layout, document, card.table, lambda: [scores.worth(card)])
    return 0


def _as_learned(y: pd.Series, clf: Classifier) -> Any:
    """Convert labels to the learned classes if only their types differ: 1 and "1" are the same class."""
    learned = clf.classes_.tolist()
    texts, known = {str(label): label for label in learned}, {*learned}
    each = {label: label if label in known else texts.get(str(label), label) for label in y.unique().tolist()}
    return y if all(key is label for key, label in each.items()) else y.map(each)


def _document_of(card: Scorecard) -> dict[str, Any]:
    return {
        "sentence": card.finding, "rows": card.rows, "prob": card.prob, "scored_by": str(card.how),
        "confidence": card.confidence, "scores": card.table, "confusion": card.confusion, "classes": card.by_class,
        "never_learned": card.never_learned,
    }  # fmt: skip


@options.command(
    "DATA",
    "bayesnb.inference.predictive_checks:predictive_checks",
    options.EMBEDDED,
    output="to_picture",
    settings="naive",
)
def audit(
    data: str, target: str | None, top: int, prob: float, output: str | None, layout: str, settings: Settings,
    format: Format, force: bool,
) -> int:  # fmt: skip
    """Find columns of a table that depend on each other given the class, and labels that may be wrong.

    DATA is the name of an embedded data set, or a path as for `fit`. Naive Bayes assumes that the columns are
    independent given the class. For every pair of columns, the audit computes a Bayes factor, the mutual information,
    and the decrease in log loss on held-out rows if the pair is modelled. The audit also compares columns and pairs
    with tables simulated from the model. At most 200 columns are possible. A label is doubtful if the model of all
    other rows gives it a small probability. If the audit recommends a dependence, the model that judges the labels
    includes this dependence.

    There is no option --dependence. The first sentence of the output names the dependence to use; `compare` and
    `report` show how much this dependence improves predictions.
    """
    from bayesnb.data.tables import Table
    from bayesnb.report.questions import Asking

    require_output(output, "picture", [data], is_picture, force)
    learned = fitted(data, target, format, replace(settings, dependence="none"))
    asking = Asking(learned.clf, Table.of(learned.X), learned.y, prob)
    say("weighing each pair of columns against independence")
    found = asking.answer("independence")
    say("comparing the rows with tables that the model makes")
    fit = asking.answer("predictive_checks")
    if left := [name for name in learned.clf.schema.raw if name not in found.columns]:
        more = ", …" if len(left) > 5 else ""
        say(f"not compared (more than 64 levels, text to count, or exposure): {', '.join(map(repr, left[:5]))}{more}")
    doubts = asking.answer("suspicious_labels") if len(learned.clf.classes_) > 1 else None
    names = ["independence", "predictive_checks", *([] if doubts is None else ["suspicious_labels"])]
    document = {
        "data": learned.name, "target": str(learned.y.name), "says": found.finding, "advice": found.advice,
        "prob": prob, "exponent": dict(found.exponent), "pairs": found.pairs, "fits": fit.fits, "fit": str(fit),
        "checks": fit.table,
    }  # fmt: skip
    if doubts is not None:
        number = {"wrong": doubts.attrs["expected"], "sd": doubts.attrs["sd"], "note": doubts.attrs.get("note")}
        document["labels"] = number | {"dependence": asking.advice, "rows": doubts.head(top).rename_axis("row")}
    print_answer(layout, document, found.pairs, lambda: [asking.section(name, top) for name in names])
    if output is not None:
        _draw(found, output)
    return 0


def _draw(found: Independence, output: str) -> None:
    from bayesnb import plots
    from bayesnb.data.writers import replacing

    figure, suffix = plots.independence(found), Path(output).suffix.lower()
    written_by = {".png": "Software", ".svg": "Creator"}[suffix]
    with replacing(output) as part:
        figure.savefig(part, format=suffix[1:], dpi=180, metadata={written_by: OWN_PICTURE})
    say(f"wrote {output}")


@options.command("DATA", "bayesnb.report:report", options.EMBEDDED, output="to_page", layout="page")
def report(
    data: str, target: str | None, output: str, layout: str | None, title: str | None, explain: int, by: str,
    cv: Folds, rows: int, settings: Settings, unit: str, draws: int, prob: float, random_state: int, format: Format,
    force: bool,
) -> int:  # fmt: skip
    """Write one self-contained page about a table: the scores of its model, the findings, and what was learned.

    DATA is the name of an embedded data set, or a path as for `fit`. The page needs no network access.
    """
    from bayesnb.estimator import holding
    from bayesnb.findings import together
    from bayesnb.report import is_report, write
    from bayesnb.report import report as page_of

    layout = layout or ("md" if output.lower().endswith((".md", ".markdown")) else "html")
    require_output(output, layout, [data], is_report, force)
    learned = fitted(data, target, format, settings, random_state)
    title = title if title is not None else f"Naive Bayes: {Path(learned.name).name}"
    remarks = [each.on_page for each in together(sorted(learned.remarks, key=lambda remark: not remark.serious))]
    clf = holding(learned.parameters, learned.clf)
    page = page_of(
        clf, learned.X, learned.y, title, layout, explain, by, unit, prob, draws, cv, rows, remarks, "command",
    )  # fmt: skip
    if output == "-":
        stdout().write(page)
    else:
        write(page, output)
        say(f"wrote {output}")
    return 0
