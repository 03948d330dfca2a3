"""Learning in parts, merging, forgetting, evidence, leave-one-out and samples, on one table with every family."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, log_loss

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Binned,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    Poisson,
)
from bayesnb.data.tables import Table
from bayesnb.evaluation import compare_estimates, evaluate
from bayesnb.families import GaussianKnownVariance
from bayesnb.inference.scoring import scores
from bayesnb.model import ESTIMATES, Data, NaiveBayes, Posterior, Statistics
from bayesnb.model.stacks import JoinedParts
from bayesnb.statistics.statistic import Labels, same

CLASSES = ("ant", "bee", "cow")
SIZES = ["a", "b", "c", "d"]  # "d" is never seen

FEATURES = {
    "winged": Bernoulli(),
    "looks": (Categorical(), ["colour", "size"]),
    "words": (Multinomial(Dirichlet(1.5)), ["buzz", "moo", "hum"]),
    "body": (Gaussian(), ["length", "weight"]),
    "heat": GaussianKnownVariance(variance=4.0),
    "visits": Poisson(exposure="hours"),
    "age": Binned(edges=[1.0, 3.0]),
}
# Priors that take nothing from the data: what was said of them before the first row still holds after it.
FIXED = FEATURES | {
    "winged": Bernoulli(Beta(1.2, 1.7)),
    "looks": (Categorical(Dirichlet(1.6)), ["colour", "size"]),
    "body": (Gaussian(NormalGamma(3.0, 0.5, 2.0, 7.0)), ["length", "weight"]),
    "heat": GaussianKnownVariance(variance=4.0, prior=Normal(2.0, 9.0)),
    "visits": Poisson(Gamma(2.0, 1.5), exposure="hours"),
}


def zoo(n: int = 45, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of three classes, where levels and words are missing too, and a declared level was never seen."""
    columns = {
        "winged": "bit", "length": "real", "weight": "spread", "heat": "real", "visits": "events", "age": "wait",
        "colour": "levels", "size": "levels", "buzz": "count", "moo": "word", "hum": "word", "hours": "hours",
    }  # fmt: skip
    table, y = mixed(n, CLASSES, columns, seed, missing=0.1)
    table.loc[::9, ["buzz", "moo", "hum"]] = np.nan
    return table.assign(colour=pd.Categorical(table["colour"]), size=pd.Categorical(table["size"], SIZES)), y


X, Y = zoo()
N = len(Y)
WEIGHT = default_rng(2).choice([0.5, 1.0, 2.25], N)
NEW = zoo(20, seed=9)[0]


def model(**parameters: Any) -> BayesianNB:
    return BayesianNB(**({"features": FEATURES} | parameters))


def inside(clf: BayesianNB, frame: pd.DataFrame, y: Any, weight: Any = None) -> tuple[NaiveBayes, Data, Labels]:
    """What is under the shell: the model, the encoded rows, their labels."""
    data = clf.classifier_.read(frame)[0]
    codes = np.searchsorted(clf.classes_, y)
    labels = Labels(codes, np.ones(len(y)) if weight is None else weight, len(clf.classes_))
    return clf.posterior_.model, data, labels


def assert_same_statistics(a: Statistics, b: Statistics, rtol: float = 1e-10) -> None:
    """Equal numbers, levels and words by name; a mean counts where there is something to be the mean of."""
    assert a.labels == b.labels
    assert set(a.features) == set(b.features)
    assert_allclose(a.rows, b.rows, rtol=rtol, atol=rtol)
    for name, mine in a.features.items():
        theirs = b.features[name]
        # Each is written over the levels of both, those of ``mine`` first.
        mine, theirs = (mine + theirs * 0.0).arrays(), (mine * 0.0 + theirs).arrays()
        for field, value in mine.items():
            assert_allclose(value, theirs[field], rtol=rtol, atol=rtol, err_msg=f"{name}, {field}")


def by_label(clf: BayesianNB) -> dict[Any, pd.DataFrame]:
    return {
        name: table.sort_index(axis=0).sort_index(axis=1, key=lambda names: names.map(str))
        for name, table in clf.tables().items()
    }


def assert_same_model(a: BayesianNB, b: BayesianNB, tolerance: float = 1e-10) -> None:
    assert a.classes_.tolist() == b.classes_.tolist()
    assert_same_statistics(a.classifier_.statistics, b.classifier_.statistics, tolerance)
    assert_allclose(a.predict_log_proba(NEW), b.predict_log_proba(NEW), rtol=tolerance, atol=tolerance)
    mine, theirs = by_label(a), by_label(b)
    assert list(mine) == list(theirs)
    for name, table in mine.items():
        pd.testing.assert_frame_equal(table, theirs[name], rtol=tolerance, atol=tolerance)


# Statistics add


def sorted_rows() -> np.ndarray:
    """Positions of the rows, so that classes and levels come late."""
    return np.lexsort((X["colour"].cat.codes, Y.astype(str)))


def late(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without its declarations, so that every chunk finds levels of its own."""
    return frame.astype({"colour": object, "size": object})


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_learning_in_chunks_equals_learning_all_rows_at_once(estimate: str) -> None:
    order = sorted_rows()
    rows, y, weight = late(X.iloc[order]), Y[order], WEIGHT[order]
    clf = model(estimate="mean")
    for cut in np.array_split(np.arange(N), 6):
        clf.partial_fit(rows.iloc[cut], y[cut], sample_weight=weight[cut])
    clf.set_params(estimate=estimate).discount(1.0)  # the same statistics, asked for another estimate
    assert_same_model(clf, model(estimate=estimate).fit(late(X), Y, WEIGHT))
    first = model().fit(rows.iloc[:7], y[:7])
    assert len(first.classes_) < 3  # the classes
    assert (
        first.classifier_.schema.features["looks"].levels != clf.classifier_.schema.features["looks"].levels
    )  # and levels came late


def test_merging_two_models_equals_learning_both_tables() -> None:
    order = sorted_rows()
    left, right = order[:20], order[20:]
    a = model().fit(late(X).iloc[left], Y[left], WEIGHT[left])
    b = model().fit(late(X).iloc[right], Y[right], WEIGHT[right])
    assert set(a.classes_) != set(b.classes_)
    whole = model().fit(late(X), Y, WEIGHT)
    assert_same_statistics(a.classifier_.statistics + b.classifier_.statistics, whole.classifier_.statistics)
    assert_same_statistics(b.classifier_.statistics + a.classifier_.statistics, whole.classifier_.statistics)
    before = b.predict_log_proba(NEW)
    assert_same_model(a.merge(b), whole)
    assert_array_equal(b.predict_log_proba(NEW), before)  # and the other model is as it was


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted rows"])
def test_forgetting_some_rows_equals_learning_the_rest(weight: Any) -> None:
    part = default_rng(5).random(N) < 0.4
    w = np.ones(N) if weight is None else weight
    clf = model().fit(X, Y, w).forget(X[part], Y[part], w[part])
    assert_same_model(clf, model().fit(X[~part], Y[~part], w[~part]), 1e-9)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted rows"])
@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_a_whole_class_can_be_forgotten(weight: Any, estimate: str) -> None:
    bee = Y == "bee"
    w = np.ones(N) if weight is None else weight
    clf = model(estimate=estimate).fit(X, Y, w).forget(X[bee], Y[bee], w[bee])
    assert clf.classes_.tolist() == ["ant", "cow"]
    assert_same_model(clf, model(estimate=estimate).fit(X[~bee], Y[~bee], w[~bee]), 1e-9)
    named = model(estimate=estimate).partial_fit(X, Y, CLASSES, w).forget(X[bee], Y[bee], w[bee])
    rest = model(estimate=estimate).partial_fit(X[~bee], Y[~bee], classes=CLASSES, sample_weight=w[~bee])
    assert named.class_count_[1] == 0  # to the last digit
    assert all((s.seen()[1] == 0).all() for s in named.classifier_.statistics.features.values())
    assert_same_model(named, rest, 1e-9)


def test_discounting_multiplies_weights_and_leaves_the_prior_at_0() -> None:
    twice = model().fit(X, Y, WEIGHT).discount(0.5).discount(0.5)
    assert_same_model(twice, model().fit(X, Y, WEIGHT / 4))
    clf = model(features=FIXED).fit(X, Y).discount(0.0)
    assert clf.class_count_.tolist() == [0.0, 0.0, 0.0]
    assert_allclose(clf.predict_proba(NEW), 1 / 3)
    with pytest.raises(ValueError, match="factor between 0 and 1"):
        clf.discount(1.5)


# Leave one out


def refitted(clf: BayesianNB, statistics: Statistics, estimate: str) -> Posterior:
    """The posterior of these statistics, with every prior at its former scale."""
    believed = clf.posterior_
    if estimate == "mle":
        return believed.model.flat().posterior(statistics)
    features = {
        name: family.update(believed.prior[name], statistics.features[name])
        for name, family in believed.model.features.items()
    }
    label = Dirichlet(believed.label_prior.alpha + statistics.rows)
    return replace(believed, statistics=statistics, label=label, features=features)


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("features", [FEATURES, FIXED], ids=["unit information", "fixed priors"])
def test_leaving_a_row_out_equals_fitting_all_others(estimate: str, features: Any) -> None:
    clf = BayesianNB(features).fit(X, Y, WEIGHT)
    bayes, data, labels = inside(clf, X, Y, WEIGHT)
    answer = clf.posterior_.log_left_out(data, labels, estimate)
    for i in range(0, N, 4):
        rest = np.delete(np.arange(N), i)
        statistics = bayes.statistics({name: x[rest] for name, x in data.items()}, labels[rest], CLASSES)
        one = {name: x[[i]] for name, x in data.items()}
        expected = refitted(clf, statistics, estimate).log_joint(one, 1, estimate if estimate != "mle" else "map")
        assert_allclose(answer[i], expected[0], rtol=1e-9, atol=1e-9, err_msg=f"row {i}")
    # A row that is left out is less expected; where it was the only one of its kind, not at all.
    own = np.arange(N), labels.codes
    everything = clf.posterior_.log_joint(data, N, estimate)[own]
    assert np.isfinite(answer[own]).sum() > N / 2
    assert (answer[own] < everything - 1e-3).all()


@pytest.mark.parametrize(
    ("class_prior", "expected"),
    [
        (None, lambda rows: (rows + 1) / (rows.sum() + 3)),
        (Dirichlet([3.0, 1.0, 2.0]), lambda rows: (rows + np.array([3, 1, 2])) / (rows.sum() + 6)),
        ("frequencies", lambda rows: rows / rows.sum()),
        ("uniform", lambda rows: [1 / 3, 1 / 3, 1 / 3]),
        ([0.2, 0.5, 0.3], lambda rows: [0.2, 0.5, 0.3]),
    ],
    ids=["default", "Dirichlet", "frequencies", "uniform", "known"],
)
def test_leave_one_out_removes_the_row_from_the_class_counts_too(class_prior: Any, expected: Any) -> None:
    silent = pd.DataFrame({"x": np.full(N, np.nan)})
    found = BayesianNB(class_prior=class_prior).fit(silent, Y, WEIGHT).loo(silent, Y, WEIGHT)
    assert found.columns.tolist() == [("log_density", ""), *(("probability", label) for label in CLASSES)]
    rows = np.array([WEIGHT[label == Y].sum() for label in CLASSES])
    for i in range(N):
        rest = rows - np.where(np.array(CLASSES) == Y[i], WEIGHT[i], 0.0)
        assert_allclose(found.loc[i, "probability"].astype(float), expected(rest), rtol=1e-12)


def test_leaving_out_a_row_of_weight_0_changes_nothing() -> None:
    weight = np.where(np.arange(N) < 3, 0.0, WEIGHT)
    clf = model().fit(X, Y, weight)
    found = clf.loo(X, Y, weight)
    assert len(found) == N
    assert_allclose(found["probability"][:3], clf.predict_proba(X[:3]))
    assert_allclose(found[3:], clf.loo(X[3:], Y[3:], weight[3:]))


# Evidence


def test_the_evidence_is_the_sum_of_the_evidences_of_labels_and_features() -> None:
    clf = model().fit(X, Y, WEIGHT)
    evidence = clf.log_evidence_
    assert list(evidence.features) == list(clf.classifier_.schema.features)
    assert evidence.conditional == pytest.approx(sum(evidence.features.values()))
    assert evidence.joint == float(evidence) == pytest.approx(evidence.label + evidence.conditional)
    alone = BayesianNB({"winged": Bernoulli()}).fit(X[["winged"]], Y, WEIGHT).log_evidence_
    assert alone.features["winged"] == pytest.approx(evidence.features["winged"])
    assert alone.label == pytest.approx(evidence.label)


def test_the_evidence_of_two_rows_is_that_computed_by_hand() -> None:
    clf = BayesianNB().fit({"t": ["a", "b"]}, ["p", "q"])
    # P(y) = 1/2 × 1/3 under Dirichlet(1); each t is the first of its class, 1/2.
    assert np.exp(clf.log_evidence_.label) == pytest.approx(1 / 6)
    assert np.exp(clf.log_evidence_.conditional) == pytest.approx(1 / 4)
    assert np.exp(clf.log_evidence_.joint) == pytest.approx(1 / 24)


def test_the_evidence_is_the_product_of_the_predictives_of_each_row_given_those_before() -> None:
    clf = BayesianNB(FIXED, class_prior=Dirichlet({"ant": 0.5, "bee": 2.0, "cow": 1.0})).fit(X, Y)
    bayes, data, labels = inside(clf, X, Y)
    total = 0.0
    for i in range(N):
        before = bayes.posterior(bayes.statistics({name: x[:i] for name, x in data.items()}, labels[:i], CLASSES))
        total += before.log_predictive({name: x[[i]] for name, x in data.items()}, 1)[0, labels.codes[i]]
    assert total == pytest.approx(clf.log_evidence_.joint, rel=1e-11)


# Samples


def test_a_sample_looks_like_the_table_it_was_learned_from() -> None:
    clf = model(random_state=3).fit(X, Y)
    found = nb.draws.sample(clf, 400)
    assert found.columns.tolist() == ["y", *X.columns]
    assert set(found["y"]) == set(CLASSES)
    assert set(found["colour"]) <= {"a", "b", "c"}
    assert set(found["size"]) <= set(SIZES)
    assert set(found["winged"]) == {0.0, 1.0}
    assert set(found["age"]) == {"(-inf, 1)", "[1, 3)", "[3, inf)"}
    assert (found["hours"] == 1.0).all()
    whole = found[["visits", "buzz", "moo", "hum"]]
    assert (whole == whole.round()).all(axis=None)
    assert (whole >= 0).all(axis=None)
    assert found[["length", "weight", "heat"]].dtypes.eq(float).all()
    assert not found.isna().any(axis=None)
    # A row of words has the average length of those that were seen.
    length = X[["buzz", "moo", "hum"]].dropna().sum(axis=1).mean()
    assert (found[["buzz", "moo", "hum"]].sum(axis=1) == round(length)).all()


def test_a_sample_can_have_one_chosen_class_and_can_be_empty() -> None:
    clf = model(random_state=0).fit(X, Y)
    assert set(nb.draws.sample(clf, 50, label="bee")["y"]) == {"bee"}
    for label in CLASSES:
        drawn, own = nb.draws.sample(clf, 200, label=label)["length"], X.loc[label == Y, "length"]
        assert abs(drawn.mean() - own.mean()) < 0.5 * own.std()
    assert nb.draws.sample(clf, 0).columns.tolist() == ["y", *X.columns]
    assert len(nb.draws.sample(clf, 0)) == 0
    assert len(nb.draws.sample(clf)) == 1
    found = nb.draws.sample(BayesianNB(random_state=0).fit({"y": [1.0, 2.0], "x": [3.0, 4.0]}, ["p", "q"]), 2)
    assert found.columns.tolist() == ["y_", "y", "x"]  # a feature has the name of the label
    both = BayesianNB(random_state=0).fit({"y": [1.0, 2.0], "y_": [3.0, 4.0]}, ["p", "q"])
    assert nb.draws.sample(both).columns.tolist() == ["y__", "y", "y_"]
    named = BayesianNB(random_state=0).fit(X, pd.Series(Y, name="kind"))
    assert nb.draws.sample(named).columns.tolist() == ["kind", *X.columns]
    assert nb.draws.sample(BayesianNB().fit(X, pd.Series(Y, name="length"))).columns.tolist() == ["y", *X.columns]
    with pytest.raises(ValueError, match="class 'dog' was never learned"):
        nb.draws.sample(clf, 1, label="dog")


@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_the_seed_determines_a_sample(estimate: str) -> None:
    clf = model(estimate=estimate, random_state=7).fit(X, Y)
    pd.testing.assert_frame_equal(nb.draws.sample(clf, 30), nb.draws.sample(clf, 30))
    other = model(estimate=estimate, random_state=8).fit(X, Y)
    assert (nb.draws.sample(clf, 30)["length"] != nb.draws.sample(other, 30)["length"]).all()
    moving = model(estimate=estimate, random_state=default_rng(7)).fit(X, Y)
    assert (nb.draws.sample(moving, 30)["length"] != nb.draws.sample(moving, 30)["length"]).all()


def test_a_fit_to_a_large_sample_recovers_the_parameters() -> None:
    n = 10_000
    truth = model(estimate="mean", random_state=11).fit(X, Y)
    drawn = nb.draws.sample(truth, n)
    told = FEATURES | {
        "age": Categorical(Dirichlet(dict.fromkeys(truth.classifier_.schema.features["age"].levels[0], 1)))
    }
    again = model(features=told, estimate="mle").fit(drawn.drop(columns="y"), drawn["y"])
    assert again.classes_.tolist() == list(CLASSES)
    words = drawn[["buzz", "moo", "hum"]].sum(axis=1)[0]
    want, got = truth.tables(), again.tables()
    pi = want["(class)"]["probability"]
    rows = n * pi
    checked = 0
    for name, table in want.items():
        found = got[name].reindex_like(table)
        per_row = rows.reindex(table.index.get_level_values("class")).to_numpy()[:, None]
        if name == "(class)":
            error = np.sqrt(table * (1 - table) / n)
        elif name in ("body", "heat"):
            sd = table[["sd"]].to_numpy() if "sd" in table else np.full((3, 1), 2.0)
            error = pd.DataFrame(sd * [1, np.sqrt(0.5)] / np.sqrt(per_row), table.index, ["mean", "sd"])[table.columns]
        elif name == "visits":
            error = np.sqrt(table / per_row)
        else:
            error = np.sqrt(table * (1 - table) / per_row / (words if name == "words" else 1))
        far = ((found - table).abs() / error).to_numpy()
        assert np.nanmax(far) < 5, f"{name}\n{found}\n{table}"
        checked += np.isfinite(far).sum()
    # class, winged (both outcomes), looks (3 colours, 4 sizes), words, body (mean and sd), heat, visits, age
    assert checked == 3 + 6 + (9 + 12) + 9 + 12 + 3 + 3 + 9


def test_probabilities_at_draws_sum_to_1_and_depend_only_on_the_seed() -> None:
    clf = model(random_state=5).fit(X, Y)
    draws = nb.draws.sample_proba(clf, NEW, draws=700)  # more than one block of draws
    assert draws.shape == (700, len(NEW), 3)
    assert_allclose(draws.sum(axis=-1), 1.0)
    assert (draws.std(axis=0) > 0).all()
    assert draws.std(axis=0).max() > 0.1
    assert_array_equal(draws, nb.draws.sample_proba(clf, NEW, draws=700))
    assert not np.array_equal(draws, nb.draws.sample_proba(model(random_state=6).fit(X, Y), NEW, draws=700))
    with pytest.raises(ValueError, match="draws to be a whole number, 1 or more"):
        nb.draws.sample_proba(clf, NEW, draws=0)


# The class prior


@pytest.mark.parametrize(
    ("class_prior", "expected"),
    [
        (None, [5 / 11, 3 / 11, 3 / 11]),
        (Dirichlet(2.0), [6 / 14, 4 / 14, 4 / 14]),
        (Dirichlet.perks(), [(4 + 1 / 3) / 9, (2 + 1 / 3) / 9, (2 + 1 / 3) / 9]),
        (Dirichlet([1.0, 2.0, 4.0]), [5 / 15, 4 / 15, 6 / 15]),
        (Dirichlet({"cow": 4.0, "ant": 1.0, "bee": 2.0}), [5 / 15, 4 / 15, 6 / 15]),
        (Dirichlet.m_estimate(10, {"bee": 0.5, "cow": 0.4, "ant": 0.1}), [5 / 18, 7 / 18, 6 / 18]),
        ("frequencies", [4 / 8, 2 / 8, 2 / 8]),
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ({"cow": 0.7, "ant": 0.1, "bee": 0.2}, [0.1, 0.2, 0.7]),
        ([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]),
    ],
    ids=["default", "2", "perks", "array", "by label", "m-estimate", "frequencies", "uniform", "known", "known array"],
)
def test_the_class_prior_is_the_specified_one(class_prior: Any, expected: Any) -> None:
    y = ["cow", "ant", "ant", "bee", "ant", "cow", "bee", "ant"]
    clf = BayesianNB({"x": Gaussian()}, class_prior=class_prior).fit({"x": [1.0, 2, 3, 4, 5, 6, 7, 8]}, y)
    assert_allclose(clf.predict_proba({"x": [None, np.nan]}), [expected] * 2)
    assert_allclose(clf.tables()["(class)"]["probability"], expected)


def test_each_class_can_have_its_own_prior() -> None:
    prior = {"p": Gamma(1.0, 2.0), "q": Gamma(30.0, 10.0)}
    levels = {"q": Dirichlet({"a": 5.0, "b": 1.0}), "p": Dirichlet({"a": 1.0, "b": 2.0})}
    clf = BayesianNB({"n": Poisson(prior), "t": Categorical(levels)}, estimate="mean")
    clf.fit({"n": [0, 2, 4], "t": ["a", "b", "b"]}, ["p", "q", "q"])
    tables = clf.tables()
    assert_allclose(tables["n"]["rate"], [1 / 3, 36 / 12])
    assert_allclose(tables["t"], [[2 / 4, 2 / 4], [5 / 8, 3 / 8]])
    with pytest.raises(ValueError, match="feature 'n': Expected a prior for class 'r'"):
        clf.partial_fit({"n": [1], "t": ["a"]}, ["r"])


# Estimates


@pytest.mark.parametrize(
    ("family", "columns", "same"),
    [
        (Categorical(), ["colour"], True),
        (Bernoulli(), ["winged"], True),
        (Binned(edges=[1.0, 3.0]), ["age"], True),
        (Gaussian(), ["length"], False),
        (GaussianKnownVariance(variance=4.0), ["heat"], False),
        (Poisson(), ["visits"], False),
        (Multinomial(), ["buzz", "moo", "hum"], False),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list | bool) else None,
)
def test_the_predictive_equals_the_plug_in_of_the_mean_only_for_single_trials(
    family: Any, columns: list[str], same: bool
) -> None:
    clf = BayesianNB({"f": (family, columns)}).fit(X[columns], Y)
    predictive = clf.predict_joint_log_proba(X[columns])
    plugged = clf.set_params(estimate="mean").fit(X[columns], Y).predict_joint_log_proba(X[columns])
    if same:
        assert_allclose(predictive, plugged, rtol=1e-12)
    else:
        assert np.abs(predictive - plugged).max() > 1e-2


def test_the_calibration_error_is_that_computed_by_hand() -> None:
    # Confidences 0.95, 0.95 (one right), 0.75 (right), 0.55, 0.55 (none right), in bins of a tenth.
    p = np.array([[0.95, 0.05], [0.05, 0.95], [0.75, 0.25], [0.55, 0.45], [0.45, 0.55]])
    found = scores(np.log(p) - 7.0, np.array([0, 0, 0, 1, 0]))
    by_hand = 2 / 5 * abs(0.95 - 0.5) + 1 / 5 * abs(0.75 - 1) + 2 / 5 * abs(0.55 - 0)
    assert found["ece"] == pytest.approx(by_hand)
    one_bin = scores(np.log(p), np.array([0, 0, 0, 1, 0]), bins=1)
    assert one_bin["ece"] == pytest.approx(abs(3.75 / 5 - 2 / 5))


# Scores


def brier_score(proba: np.ndarray, y: Any) -> float:
    return float(((proba - (np.asarray(y)[:, None] == np.array(CLASSES))) ** 2).sum(axis=1).mean())


def test_compare_estimates_scores_by_exact_leave_one_out() -> None:
    found = compare_estimates(model(), X, Y, "loo", ())
    assert found.index.tolist() == list(ESTIMATES)
    clf = model().fit(X, Y)
    left_out = clf.loo(X, Y)["probability"].to_numpy()
    row = found.loc["predictive"]
    assert row["log_loss"] == pytest.approx(log_loss(Y, left_out))
    assert row["brier"] == pytest.approx(brier_score(left_out, Y))
    assert row["accuracy"] == accuracy_score(Y, np.array(CLASSES)[left_out.argmax(axis=1)])
    assert row["from_predictive"] == 0
    mean = model(estimate="mean").fit(X, Y).loo(X, Y)["probability"].to_numpy()
    assert found.loc["mean", "from_predictive"] == pytest.approx(np.abs(mean - left_out).max())
    assert found.loc["mean", "from_predictive"] > 0.01


def test_the_note_says_why_an_estimate_or_a_dependence_does_not_exist() -> None:
    assert (compare_estimates(model(), X, Y, "loo", ())["note"] == "").all()
    one = compare_estimates(BayesianNB(), {"x": [1.0, 2, 3, 4]}, list("ppqr"))
    assert "as many as the smallest class has rows (1)" in one.loc["weighted", "note"]
    assert np.isnan(one.loc["weighted", "log_loss"])
    jeffreys = compare_estimates(BayesianNB(Bernoulli(Beta.jeffreys())), {"x": [1, 1, 0, 1]}, list("ppqq"), "loo", ())
    assert "feature 'x', class 'p'" in jeffreys.loc["map", "note"]
    assert np.isnan(jeffreys.loc["map", "log_loss"])
    assert jeffreys.loc["mean", "note"] == ""


def test_a_dependence_is_scored_by_folds_beside_the_estimates() -> None:
    for cv, folds in (("loo", 5), (3, 3)):
        found = compare_estimates(model(), X, Y, cv, ("tempered",))
        assert found.index.tolist() == [*ESTIMATES, "tempered"]
        alone = evaluate(model().set_params(dependence="tempered"), X, Y, cv=folds)
        assert found.loc["tempered", "log_loss"] == pytest.approx(alone["log_loss"])
        assert ("scored by 5-fold cross-validation" in found.loc["tempered", "note"]) == (cv == "loo")


def test_columns_of_one_specification_give_together_what_each_gives_alone():
    # Levels differ in their number, one column has gaps, and the third family is another one.
    rng, y = default_rng(5), np.arange(12) % 3
    X = pd.DataFrame({f"r{k}": rng.normal(size=12) for k in range(3)})
    X[["n0", "n1"]] = rng.poisson(3, (12, 2))
    for k in range(4):
        X[f"l{k}"] = rng.choice(list("abc")[: 2 + k % 2], 12)
    X.loc[[1, 5], "r1"] = np.nan
    clf = nb.BayesianNB({"r2": nb.Gaussian(nb.NormalGamma.learned())}).fit(X, y)
    posterior, labels = clf.posterior_, Labels.of(y)
    data = clf.classifier_.schema.read(Table.of(X))[1]
    alone = [posterior.only([name]) for name in posterior.features]
    each = sum(one.log_predictive_features(data, 12) for one in alone)
    assert_allclose(posterior.log_predictive_features(data, 12), each, rtol=1e-12)
    total, apart = np.zeros((2, 12, 3))
    posterior.leave_out(total, data, labels)
    for one in alone:
        own = np.zeros((12, 3))
        one.leave_out(own, data, labels)
        apart += own
    assert_allclose(total, apart, rtol=1e-12)
    for name in X:
        one = nb.BayesianNB({name: clf.features[name]} if name in clf.features else None).fit(X[[name]], y)
        assert_allclose(one.log_evidence_.features[name], clf.log_evidence_.features[name], rtol=1e-12)
        assert repr(one.posterior_.features[name]) == repr(posterior.features[name])


def test_parts_of_equal_columns_stay_joined_and_are_as_alone_when_they_are_looked_up() -> None:
    X, y = nb.datasets.penguins()
    posterior = BayesianNB().fit(X, y).posterior_
    for parts, of in ((posterior.features, "features"), (posterior.prior, "prior")):
        assert isinstance(parts, JoinedParts)
        assert list(parts) == list(X) == list(posterior.statistics.features)
        assert "apart" not in vars(parts)
        for name in X:
            assert same(parts[name], getattr(BayesianNB().fit(X[[name]], y).posterior_, of)[name])
        assert repr(parts) == repr({name: parts[name] for name in X})
