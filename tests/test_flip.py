"""What would turn an answer: the fewest learned rows, the contamination of all tables, and the power of the priors."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.cli import main
from bayesnb.inference.flip import Patterns, best_removal
from bayesnb.priors import Beta, Dirichlet

DAY = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]}


def brute_force(clf: nb.BayesianNB, row: pd.DataFrame, X: pd.DataFrame, y: pd.Series, most: int) -> int | None:
    """The fewest rows without which the answer is another one, by unlearning every set of at most so many."""
    before, classifier = clf.predict(row)[0], clf.classifier_
    data, labels = classifier.learned(X, y, None)
    asked, _ = classifier.read(row)
    top = list(clf.classes_).index(before)
    for k in range(1, most + 1):
        for rows in map(list, combinations(range(len(X)), k)):
            some = {name: x[np.array(rows)] for name, x in data.items()}
            gone = classifier.posterior.model.statistics(some, labels[np.array(rows)], classifier.statistics.labels)
            joint = classifier.posterior.given(classifier.statistics - gone).log_predictive(asked, 1)[0]
            if joint[top] < np.delete(joint, top).max() - 1e-12:
                return k
    return None


@pytest.mark.parametrize("seed", range(4))
def test_no_fewer_rows_turn_an_answer_than_those_that_are_found(seed: int) -> None:
    rng = default_rng(seed)
    y = pd.Series(rng.choice(["p", "q", "r"][: 2 + seed % 2], 9))
    X = pd.DataFrame(rng.choice(["a", "b", None], (9, 3), p=[0.5, 0.4, 0.1]), columns=list("xyz")).astype(object)
    X["w"] = rng.binomial(1, 0.5, 9).astype(float)
    spec = {"w": nb.Bernoulli(Beta(1, 2)), **{name: nb.Categorical(Dirichlet({"a": 1.0, "b": 1.5})) for name in "xyz"}}
    clf = nb.BayesianNB(spec).fit(X, y)
    row = pd.DataFrame([["a", "b", "a", 1.0]], columns=list("xyzw"))
    found = nb.checks.flip(clf, row, X, y, limit=9)
    fewest = brute_force(clf, row, X, y, 3)
    assert (len(found.rows) if 1 <= len(found.rows) <= 3 else None) == fewest
    if found.other is not None:
        assert found.proved
        left = clf.forget(X.iloc[list(found.rows)], y.iloc[list(found.rows)])
        assert left.predict(row)[0] == found.other


@pytest.mark.parametrize("seed", range(20))
def test_the_best_removal_is_that_of_all_removals(seed: int) -> None:
    rng = default_rng(seed)
    n, columns = int(rng.integers(3, 9)), int(rng.integers(1, 5))
    present = (rng.random((n, columns)) >= rng.choice([0.0, 0.3])).astype(float)
    agrees = present * (rng.random((n, columns)) < rng.uniform(0.2, 0.8))
    kinds, which = np.unique(np.hstack([agrees, present]), axis=0, return_inverse=True)
    members = [np.flatnonzero(which == kind) for kind in range(len(kinds))]
    own, total = agrees.sum(0) + 1, present.sum(0) + 3
    patterns = Patterns(kinds[:, :columns], kinds[:, columns:], members, own, total, lambda k: float(np.log(n + 1 - k)))
    for k in range(min(3, n) + 1):
        sets = [list(rows) for rows in combinations(range(n), k)]
        scores = [patterns.score(k, agrees[rows].sum(0), present[rows].sum(0)) for rows in sets]
        for sign, best in ((1, max(scores)), (-1, min(scores))):
            found = best_removal(patterns, k, sign)
            assert_allclose([found.score, found.bound], best, atol=1e-9)
            # A search that is cut short keeps a bound that is no better than the truth.
            short = best_removal(patterns, k, sign, nodes=1)
            assert sign * short.score <= sign * best + 1e-9 <= sign * short.bound + 2e-9


def test_two_days_of_fourteen_turn_the_answer_of_play_tennis() -> None:
    X, y = nb.datasets.play_tennis()
    found = nb.checks.flip(nb.BayesianNB().fit(X, y), DAY, X, y)
    assert (found.label, found.other, found.rows, found.at_least) == ("no", "yes", (1, 5), 2)
    assert "Without 2 rows of 14 (at 1, 5) it is 'yes' and not 'no'; no fewer rows do that." in str(found)
    # With this share of every table contaminated, both classes are level.
    p, q = np.array([[4, 2, 5, 4], [3, 4, 4, 4]]) / np.array([[8, 8, 7, 7], [12, 12, 11, 11]])
    e = found.contamination
    assert_allclose(np.log((1 - e) * p).sum() + np.log(6), np.log((1 - e) * q + e).sum() + np.log(10), atol=1e-9)


def test_priors_raised_to_the_power_that_is_found_make_both_classes_level() -> None:
    X, y = nb.datasets.play_tennis()
    row, clf = X[7:8], nb.BayesianNB(class_prior=Dirichlet(1.0)).fit(X, y)
    power = nb.checks.flip(clf, row, X, y).prior_power
    raised = nb.BayesianNB(nb.Categorical(Dirichlet(power)), class_prior=Dirichlet(power)).fit(X, y)
    assert_allclose(raised.predict_proba(row), 0.5, atol=1e-9)


def test_the_sentence_says_what_a_share_of_contamination_would_do() -> None:
    X, y = nb.datasets.play_tennis()
    said = str(nb.checks.flip(nb.BayesianNB().fit(X, y), DAY, X, y))
    assert (
        "It could change if a share of at least 0.085 of every column's values came from another distribution." in said
    )


def test_rows_of_numbers_are_removed_one_by_one_and_one_row_is_proved() -> None:
    X, y = nb.datasets.heights()
    clf = nb.BayesianNB().fit(X, y)
    row = pd.DataFrame({"height_cm": [172.0], "weight_kg": [66.0]})
    found = nb.checks.flip(clf, row, X, y)
    assert brute_force(clf, row, X, y, 1) is None
    assert (found.at_least, found.proved) == (2, False)
    left = nb.BayesianNB().fit(X, y).forget(X.iloc[list(found.rows)], y.iloc[list(found.rows)])
    assert left.predict(row)[0] == found.other
    alone = nb.checks.flip(clf, row, X, y, limit=1)
    assert str(alone) == "It stays 'female', whichever row of 40 is removed."


def test_ten_thousand_rows_are_searched_with_a_proof() -> None:
    rng = default_rng(0)
    y = pd.Series(rng.integers(2, size=10_000))
    levels = np.minimum(rng.integers(4, size=(10_000, 10)) + (y * (rng.random(10_000) < 0.1)).to_numpy()[:, None], 3)
    X = pd.DataFrame(np.array(list("abcd"))[levels], columns=[f"c{k}" for k in range(10)])
    clf = nb.BayesianNB().fit(X, y)
    near = int(np.argsort(np.abs(clf.predict_proba(X)[:, 0] - 0.5))[800])
    found = nb.checks.flip(clf, X[near : near + 1], X, y)
    assert found.proved
    assert 3 <= len(found.rows) <= 10


def test_explain_says_in_one_line_what_turns_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["explain", "play-tennis", "--dependence", "none", "--flip"])
    X, y = nb.datasets.play_tennis()
    said = str(nb.checks.flip(nb.BayesianNB().fit(X, y), DAY, X, y))
    assert " ".join(said.split()) in " ".join(capsys.readouterr().out.split())


REFUSED: dict[str, tuple[Any, str]] = {
    "two rows": (lambda clf, X, y: nb.checks.flip(clf, X[:2], X, y), "a table of one row"),
    "other rows than were learned": (lambda clf, X, y: nb.checks.flip(clf, DAY, X[:9], y[:9]), "exactly the learned"),
    "a plug-in": (
        lambda clf, X, y: nb.checks.flip(clf.classifier_.with_estimate("map"), DAY, X, y),
        'with_estimate\\("predictive"\\)',
    ),
    "exponents": (
        lambda clf, X, y: nb.checks.flip(nb.BayesianNB(dependence="tempered").fit(X, y), DAY, X, y),
        "dependence=None",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_turned_is_refused_with_the_cure(case: str) -> None:
    X, y = nb.datasets.play_tennis()
    ask, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        ask(nb.BayesianNB().fit(X, y), X, y)
