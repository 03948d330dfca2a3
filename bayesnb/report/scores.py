"""The report sections about scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb import learning, plots
from bayesnb.inference.questions import QUESTIONS
from bayesnb.inference.scorecard import percents
from bayesnb.report import parts
from bayesnb.report.questions import Held, answer, intervals, ledger, section_of, shortened
from bayesnb.wording import Message, at_row

if TYPE_CHECKING:
    from bayesnb.data.tables import Table
    from bayesnb.estimator import BayesianNB
    from bayesnb.evaluation import Comparison
    from bayesnb.inference.classifier import Classifier
    from bayesnb.inference.scorecard import Scorecard

WORTH = "What the model is worth"
ESTIMATES = "Each estimate beside the others"
CALIBRATION = "Calibration"
MORE = "What more rows are worth"
EVIDENCE = "Evidence"

MOST_CLASSES = 12
"""Largest number of classes for a confusion matrix; with more, the most confused pairs are shown."""

MOST_COLUMNS = 40
"""Largest number of columns with listed evidence."""

LEGEND = (
    "claimed: what the score would be if the probabilities were true. frequencies: a forecast that gives each row the "
    "class frequencies of the scored rows; majority: always the largest class. balanced accuracy: the mean recall of"
    " the classes; log loss: in nats; Brier: from 0 to 2; ECE: expected calibration error; AUC: area under the ROC "
    "curve, of several classes the mean over pairs. Smaller is better for log loss, Brier and ECE. recall: the share "
    "of a class that is predicted as the class; precision: the share of the predictions of a class that are right."
)
MEANING = {
    "mle": "maximum likelihood", "map": "posterior mode", "mean": "posterior mean",
    "predictive": "averaged: full Bayes",
}  # fmt: skip
"""What each estimate does with the parameters θ."""

FOOTNOTE = (
    "mle and map are the same under the priors that features have by default (the mode under Dirichlet(1) is the "
    "relative frequency), and mean and predictive are the same where a row has one value for each parameter, as for "
    "levels. They differ for numbers: bayesnb compare heights."
)

NAMES = {
    "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "log_loss": "log loss", "brier": "Brier",
    "ece": "ECE", "auc": "AUC",
}  # fmt: skip


def worth(card: Scorecard, recommendation: Message | str = "") -> parts.Section:
    """The scores of a model and of simple forecasts, and the confusion matrix."""
    digits = 3 if card.rows < 20_000 else 4
    scores = card.table.map(lambda value: parts.written(value, digits)).rename(NAMES).rename_axis("score")
    ends = scores.pop("lower") + "–" + scores.pop("upper")
    scores.insert(1, f"{card.prob:.0%} interval", ends)
    below: list[parts.Part] = [
        parts.TablePart(scores, "Scores"),
        f"Scored by {card.how}. {LEGEND} In brackets: {card.prob:.0%} intervals.",
        _confusion(card),
    ]
    lead = Message("{scores} {recommendation}", scores=card.finding, recommendation=recommendation)
    return parts.Section(WORTH, below, lead if recommendation else card.finding, _commonest_mistake(card))


def _confusion(card: Scorecard) -> parts.TablePart:
    if len(card.by_class) > MOST_CLASSES:
        wrong = card.confusion.rename_axis(index="true", columns="predicted").stack().rename("rows").reset_index()
        wrong = wrong[(wrong["true"].astype(str) != wrong["predicted"].astype(str)) & (wrong["rows"] > 0)]
        wrong = wrong.sort_values("rows", ascending=False, kind="stable").set_index("true")
        return replace(next(shortened(wrong, "Errors, the most frequent first", MOST_CLASSES)), folded=True)

    def shares(name: str) -> list[str]:
        ends = (card.by_class[f"{name}{end}"] for end in ("", "_lower", "_upper"))
        return [parts.with_interval(*line) for line in zip(*ends, strict=True)]

    frame = card.confusion.astype(object).set_axis(card.confusion.columns.astype(str), axis=1)
    frame = frame.assign(recall=shares("recall")).rename_axis("true class")
    below = dict(zip(map(str, card.by_class.index), shares("precision"), strict=True))
    frame = pd.concat([frame, pd.DataFrame([below], ["precision"])]).fillna("").rename_axis("true class")
    return parts.TablePart(frame, "True classes (rows) and predicted classes (columns)", folded=True)


def _commonest_mistake(card: Scorecard) -> str:
    wrong = card.confusion.to_numpy().copy()
    np.fill_diagonal(wrong, 0)
    if not wrong.any():
        return ""
    row, column = np.unravel_index(wrong.argmax(), wrong.shape)
    true, taken = (
        parts.one_line(axis[k], 60) for axis, k in ((card.confusion.index, row), (card.confusion.columns, column))
    )
    rows = int(card.by_class["rows"].iloc[row])
    return f"Most frequent error: {wrong[row, column]:,} of the {rows:,} {true!r} rows are predicted as {taken!r}."


def estimates(compared: Comparison) -> parts.Section:
    """Scores of all estimates, such as MAP, and of all models with dependence, on the same held-out rows."""
    many, worse = len(compared.codes) >= 20_000, compared.worse
    digits = 0 if len(compared.codes) < 1000 else 2 if many else 1
    lines = {}
    for estimate, line in compared.table.iterrows():
        score = line.drop("note").astype(float)
        ends = (100 * score[k] for k in ("accuracy", "accuracy_lower", "accuracy_upper"))
        lines[f"{estimate} *" if estimate in worse else str(estimate)] = {
            "right in %": parts.with_interval(*ends, digits),
            "log loss": parts.written(score["log_loss"], 4 if many else 3),
            "behind the best": parts.with_error(score["difference"], score["se_difference"], 5 if many else 3),
            "Brier": score["brier"],
            "ECE": score["ece"],
            "AUC": score["auc"],
            "regret": parts.written(score.get("regret", np.nan), 4 if many else 3),
            "impossible rows": score.get("impossible", 0) or None,
        }
    frame = pd.DataFrame.from_dict(lines, orient="index").rename_axis("estimate").dropna(axis=1, how="all")
    if worse:
        verdict = f"* worse than {compared.best} by more than two standard errors."
    else:
        verdict = "None is worse than the best by more than two standard errors."
    text = (
        f"Rows held out by {compared.how['predictive']}. {verdict} right in %: accuracy, with its {compared.prob:.0%} "
        "interval. behind the best: mean difference in log loss from the best line, and its standard error, from the "
        "differences of the same rows. regret: expected increase in log loss over full Bayes (predictive), if the "
        "model is right."
    )
    if "impossible rows" in frame:
        text += " impossible rows: held-out rows with probability 0 in every class."
    plug_ins = [estimate for estimate in compared.answers if compared.table.loc[estimate].get("regret", 0) > 1e-9]
    unbounded = [name for name in plug_ins if compared.table.loc[name, "regret"] == np.inf]
    notes: list[parts.Sentence] = compared.regrets(unbounded)
    notes += compared.regrets([name for name in plug_ins if name not in unbounded])
    notes += _absent(compared)
    notes += [
        Message("{name}: scored by {how}, because exponents learn from the labels.", name=name, how=how)
        for name, how in compared.how.items()
        if how.by != compared.how["predictive"].by and name in compared.answers
    ]
    finding = compared.recommendation if compared.recommended != compared.default else ""
    return parts.Section(ESTIMATES, [parts.TablePart(frame, ESTIMATES), text, *notes], finding=finding, folded=True)


def four_estimates(compared: Comparison) -> parts.Section:
    """A short table of scores, one line per estimate and dependence, with the regret of each plug-in estimate."""
    table = compared.table[["accuracy", "log_loss", "difference", "se_difference"]].astype(float)
    lines = {
        name: {
            "parameters": MEANING.get(str(name), f"dependence {name}"),
            "right in %": f"{100 * line['accuracy']:.1f}",
            "log loss": parts.written(line["log_loss"], 3),
            "behind the best": parts.with_error(line["difference"], line["se_difference"], 3),
        }
        for name, line in table.dropna().iterrows()
    }
    frame = pd.DataFrame.from_dict(lines, orient="index").rename_axis("estimate")
    plug_ins = [name for name in MEANING if name in compared.answers and name != "predictive"]
    below = [parts.TablePart(frame, ""), *compared.regrets(plug_ins[:2])]
    never = {name: compared.never(name) for name in plug_ins[2:]}
    below += [f"{name} gave probability 0 to the class of {k:,} of them, too." for name, k in never.items() if k]
    return parts.Section(
        "", [*below, *_absent(compared)], "MAP beside full Bayes, on held-out rows (±: standard error)"
    )


def _absent(compared: Comparison) -> list[Message]:
    said = "{name} has no score: {error}."
    return [Message(said, name=name, error=error) for name, error in compared.absent.items()]


def estimates_of_row(
    row: str, answer: Mapping[str, Any], prob: float, how: str, held_out: int | None = None
) -> parts.Section:
    """The class probabilities of one row under each estimate, and their credible intervals under naive Bayes."""
    labels, estimates = list(answer["interval"]), answer["estimates"]
    lines = {name: dict.fromkeys(labels) if isinstance(p, str) else p for name, p in estimates.items()}
    for what, said in (("lower", "interval, lower"), ("median", "median of p"), ("upper", "interval, upper")):
        name = said if what == "median" else f"{prob:.0%} {said}"
        lines[name] = {label: answer["interval"][label][what] for label in labels}
    frame = pd.DataFrame.from_dict(lines, orient="index", dtype=float).add_prefix("p(").add_suffix(")")
    shown = frame.map("{:.3f}".format).replace("nan", "—").rename_axis("estimate")
    below: list[Any] = [parts.TablePart(shown, ""), f"interval: p(class | row, θ) of naive Bayes, {how}."]
    if (frame.loc[["mle", "mean"]].sub(frame.loc[["map", "predictive"]].to_numpy()).abs() < 1e-9).all(axis=None):
        below.append(FOOTNOTE)
    # ``held_out`` is the row's position if no model has learned the row.
    place = "The row" if held_out is None else f"{at_row(held_out).capitalize()}, left out of each fit:"
    return parts.Section(f"{place} {row}", below)


def explained_row(clf: Classifier, frame: pd.DataFrame, row: int | None, truth: Any, prob: float) -> parts.Section:
    """The contribution of each value of a row to its log-odds; ``row`` is the row's position if it was held out."""
    proba = clf.predict_proba(frame)[0]
    predicted = clf.classes_[proba.argmax()]
    wrong = truth is not None and truth != predicted and truth in clf.classes_
    contributions = clf.explain(frame, predicted, truth if wrong else None, prob=prob).droplevel("row")
    ends = clf.predict_interval(frame, prob)
    said = answer(proba, ends, clf.classes_, predicted, prob)
    lead = f"Naive Bayes on the row {parts.row_text(frame.iloc[0], clf.schema.decimals)}: {said}"
    if row is not None:
        lead = f"Naive Bayes on {at_row(row)}, left out of the fit: {said} It is {truth}."
    table, *notes = ledger(contributions, "nats")
    return parts.Section("", [table, intervals(prob, ends.attrs), *notes], lead)


def more_rows(found: pd.DataFrame, compared: Comparison) -> parts.Section:
    """The expected loss after further rows, and the regret of a plug-in estimate."""
    made = section_of(QUESTIONS["worth_of_rows"], found)
    largest = f"more than {found.index[-1]:,.0f}"
    never = [name for name in found.attrs["rows_needed"] if name in compared.answers and compared.never(name)]
    needed = ", ".join(
        f"{name} {largest if rows == np.inf else f'{rows:,.0f}'}"
        for name, rows in found.attrs["rows_needed"].items()
        if name not in never and not np.isnan(rows)
    )
    band = f", with its {found.attrs['prob']:.0%} band" if "lower" in found else ""
    text = f"The loss is in nats{band}."
    if not band:
        text += " The exponents stay as learned from these rows, so this is a rough guide if they are few."
    if needed:
        text += f" Further rows from which on the regret stays at most {found.attrs['bound']:g} nats: {needed}."
    if never:
        text += f" {' and '.join(never)} gave the class of a held-out row probability 0, so the regret has no bound."
    return replace(made, title=MORE, parts=[*made.parts, text])


def calibration(compared: Comparison, name: str) -> parts.Section:
    """Compare the frequencies of the classes with the predicted probabilities."""
    from bayesnb.model import normalize

    share, codes = compared.prob, compared.codes
    proba, card = np.exp(normalize(compared.answers[name])), compared.card(name)
    how, labels = card.how, [str(label) for label in card.by_class.index]
    # Confidence in the most probable class puts nearly all rows in one bin if the other class is rare. With two
    # classes, the probability of the rarer class holds everything.
    code = int(np.bincount(codes, minlength=2).argmin()) if len(labels) == 2 else None
    what = "the most probable class" if code is None else repr(labels[code])
    frame = plots.reliability_table(proba, codes, code=code, prob=share)
    worst = frame.loc[((frame["share"] - frame["confidence"]).abs() * frame["rows"]).idxmax()]
    claimed, right = percents(worst["confidence"], worst["share"])
    says = (
        f"Reliability of the predictions of {len(codes):,} rows by {how}, in {len(frame)} bins of the probability of "
        f"{what}. Largest part of the calibration error: probability {claimed}, true "
        f"in {right} of {worst['rows']:,.0f} row{'s' * int(worst['rows'] != 1)}."
    )
    text = (
        f"How often {what} is the true class, by its probability ({name}, {how}). The intervals are binomial, "
        f"{share:.0%}."
    )
    frame = frame.set_index(frame["from"].map("{:.1f}".format) + " to " + frame["to"].map("{:.1f}".format))
    frame = frame.rename_axis("probability").drop(columns=["from", "to"])

    def drawn() -> Any:
        from bayesnb.plots.panels import plain

        figure = plots.reliability(proba, codes, code=code, prob=share)
        if code is not None:
            figure.axes[0].set_ylabel(plain(f"share of rows where {what} is true", 60))
            figure.axes[1].set_xlabel(plain(f"probability of {what}", 60))
        return figure

    picture = parts.Picture(drawn, CALIBRATION, says)
    return parts.Section(
        CALIBRATION, [text, picture, parts.TablePart(frame, "Calibration, bin by bin", folded=True)], folded=True
    )


def evidence(clf: BayesianNB | Held, table: Table) -> parts.Section:
    """The marginal likelihood of each column, and its Bayes factor against one distribution for all classes."""
    found = clf.classifier_.log_evidence()
    frame = pd.DataFrame({"log evidence": {name: float(value) for name, value in found.features.items()}})
    text = (
        f"log p(column | classes), all parameters integrated out, in nats. With log p(classes) = {found.label:.4g} "
        f"they make log p(data) = {found.joint:.6g}."
    )
    try:
        asked = learning.EstimatorParameters.of(clf, class_prior=None, estimate="predictive", dependence=None)
        pooled = learning.fitted(asked, table, np.zeros(table.n_rows, int)).log_evidence().features
    except ValueError:
        # A prior specified per class has no counterpart for a model with one class.
        pooled = None
    if pooled is not None:
        frame["log Bayes factor"] = frame["log evidence"] - frame.index.map(dict(pooled))
        text += (
            " log Bayes factor: of a distribution in each class against one for all, in nats; above 0, the column "
            "tells classes apart; below 0, it does not on these rows."
        )
        frame = frame.sort_values("log Bayes factor", ascending=False, kind="stable")
    return parts.Section(
        EVIDENCE, [text, *shortened(frame.rename_axis("column"), "Evidence of each column", MOST_COLUMNS)], folded=True
    )
