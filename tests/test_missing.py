"""Columns of which it counts whether a cell is missing: ``Missing``."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb import cli
from bayesnb.findings import examine
from bayesnb.wording import written

CLASSES = np.array(["ill", "well"])


def gappy(n=300, seed=0):
    """A table of tests that are missing more often in one class, and its classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "level": rng.normal(y, 1.0, n),
            "amount": np.exp(rng.normal(y, 1.0, n)),
            "kind": rng.choice(list("pqr"), n),
            "visits": rng.poisson(2.0 + y).astype(float),
            "flag": (rng.random(n) < 0.3).astype(float),
        }
    )
    for name, share in zip(X, ([0.1, 0.6], [0.3, 0.1], [0.0, 0.2], [0.2, 0.2], [0.5, 0.1]), strict=True):
        X[name] = X[name].mask(rng.random(n) < np.array(share)[y])
    return X, CLASSES[y]


FAMILIES = {
    "by type": (None, "level"),
    "Gaussian": (nb.Gaussian(), "level"),
    "PolyaTree": (nb.families.PolyaTree(edges=[-1.0, 0.0, 1.0]), "level"),
    "Binned": (nb.Binned(4), "level"),
    "LogNormal": (nb.families.LogNormal(), "amount"),
    "Hurdle": (nb.families.Hurdle(nb.Poisson()), "visits"),
    "Mixture": (nb.families.Mixture([nb.Gaussian(), nb.families.LogNormal()]), "amount"),
    "text by type": (None, "kind"),
    "Ordinal": (nb.families.Ordinal(order=["p", "q", "r"]), "kind"),
    "Bernoulli": (nb.Bernoulli(), "flag"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_it_is_the_family_and_a_column_of_whether_the_cell_is_missing(name):
    X, y = gappy()
    family, column = FAMILIES[name]
    prior = nb.Beta(2.0, 5.0)
    clf = nb.BayesianNB({column: nb.Missing(family, prior)}).fit(X, y)
    by_hand = X.copy()
    by_hand.insert(X.columns.get_loc(column) + 1, "gone", X[column].isna().astype(int))
    known = {} if family is None else {column: family}
    other = nb.BayesianNB(known | {"gone": nb.Bernoulli(prior)}).fit(by_hand, y)
    np.testing.assert_allclose(clf.predict_proba(X), other.predict_proba(by_hand), rtol=1e-12)
    np.testing.assert_allclose(clf.loo(X, y), other.loo(by_hand, y), rtol=1e-12)
    assert clf.log_evidence_.joint == pytest.approx(other.log_evidence_.joint, rel=1e-12)
    low, high = clf.predict_interval(X[:20]), other.predict_interval(by_hand[:20])
    np.testing.assert_allclose(low, high, rtol=1e-9)


def test_the_probability_is_bayes_rule_of_missing_and_value():
    a = nb.BayesianNB({"x": nb.Missing(nb.Bernoulli(), nb.Beta(1, 1))}, class_prior="uniform")
    a.fit({"x": [1, 1, 0, None, 0, None, None, None]}, ["u"] * 4 + ["v"] * 4)
    # Seen: 1 of 4 cells of u is missing, and 3 of 4 of v. Of the values, 2 of 3 are 1 in u, and 0 of 1 in v.
    missing, one = {"u": 2 / 6, "v": 4 / 6}, {"u": 3 / 5, "v": 1 / 3}
    gone = np.array([missing["u"], missing["v"]])
    there = np.array([(1 - missing[c]) * one[c] for c in "uv"])
    found = a.predict_proba({"x": [None, 1]})
    np.testing.assert_allclose(found, [gone / gone.sum(), there / there.sum()], rtol=1e-14)


def test_a_column_that_the_table_lacks_says_nothing_and_a_missing_cell_says_something():
    X, y = gappy()
    clf = nb.BayesianNB({"level": nb.Missing()}, absent="missing").fit(X, y)
    rest = nb.BayesianNB().fit(X.drop(columns="level"), y)
    some = X[:30].drop(columns="level")
    np.testing.assert_allclose(clf.predict_proba(some), rest.predict_proba(some), rtol=1e-12)
    gone = clf.predict_proba(some.assign(level=np.nan))
    assert (gone[:, 1] > rest.predict_proba(some)[:, 1]).all()


def test_a_level_never_seen_is_a_value_and_not_missing():
    X, y = gappy()
    clf = nb.BayesianNB({"kind": "missing"}).fit(X[["kind"]], y)
    with pytest.warns(nb.errors.UnseenLevelWarning):
        unseen = clf.predict_proba({"kind": ["a new one"]})
    gone = clf.tables()["kind is missing"][0].to_numpy() * clf.tables()["(class)"]["probability"].to_numpy()
    np.testing.assert_allclose(unseen[0], gone / gone.sum(), rtol=1e-12)


@pytest.mark.parametrize(
    "family",
    [None, nb.families.PolyaTree(edges=[1.0, 2.0, 3.0]), nb.families.Hurdle(nb.Poisson())],
    ids=["type", "tree", "hurdle"],
)
def test_a_file_read_in_parts_gives_the_model_of_the_table_in_memory(family, tmp_path):
    X, y = gappy()
    X["visits"] = X["visits"] + (not isinstance(family, nb.families.Hurdle)) * 0.5
    features = {"visits": nb.Missing(family, nb.Beta(1, 3)), "kind": "missing"}
    X.assign(y=y).to_parquet(tmp_path / "t.parquet", row_group_size=150)
    a = nb.BayesianNB(features).fit(tmp_path / "t.parquet", "y")
    b = nb.BayesianNB(features).fit(X, y)
    assert list(a.describe().index) == list(b.describe().index)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)


def test_a_model_file_keeps_it(tmp_path):
    X, y = gappy()
    clf = nb.BayesianNB("missing", random_state=0).fit(X, y)
    clf.save(tmp_path / "m.bayesnb")
    again = nb.load(tmp_path / "m.bayesnb")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    again.partial_fit(X[:9], y[:9])
    specified = nb.BayesianNB({"level": nb.Missing(nb.Gaussian(), nb.Beta(2, 3))}).fit(X, y)
    specified.save(tmp_path / "m.bayesnb")
    held = nb.load(tmp_path / "m.bayesnb").features["level"]
    assert isinstance(held, nb.Missing)
    assert isinstance(held.family, nb.Gaussian)
    assert held.prior.beta == 3


def test_drawn_rows_lack_cells_as_often_as_the_learned_ones():
    X, y = gappy(2000)
    clf = nb.BayesianNB("missing", random_state=0).fit(X, y)
    drawn = nb.draws.sample(clf, 20_000)
    assert list(drawn) == ["y", *X]
    learned = X.isna().groupby(y).mean()
    for label in CLASSES:
        n = (drawn["y"] == label).sum()
        found = drawn.loc[drawn["y"] == label, list(X)].isna().mean()
        error = np.sqrt(learned.loc[label] * (1 - learned.loc[label]) * (1 / n + 1 / (y == label).sum())) + 1e-3
        assert (np.abs(found - learned.loc[label]) < 5 * error).all()


@pytest.mark.parametrize("column", ["kind", "flag"])
def test_what_to_ask_next_counts_that_the_answer_may_be_missing(column):
    X, y = gappy()
    features = {column: nb.Missing(nb.Bernoulli() if column == "flag" else None)}
    clf = nb.BayesianNB(features).fit(X, y)
    row = X[:1].drop(columns=column)
    answers = [*sorted(X[column].dropna().unique()), None]
    lenient = nb.BayesianNB(features, absent="missing").fit(X, y)
    before = lenient.predict_proba(row)[0]
    log_row = logsumexp(lenient.predict_joint_log_proba(row)[0])
    entropy = 0.0
    for answer in answers:
        completed = row.assign(**{column: pd.Series([answer], dtype=X[column].dtype, index=row.index)})
        p = np.exp(logsumexp(clf.predict_joint_log_proba(completed)[0]) - log_row)
        proba = clf.predict_proba(completed)[0]
        entropy -= p * (proba * np.log(proba)).sum()
    wanted = -(before * np.log(before)).sum() - entropy
    found = nb.design.ask_next(clf, row)
    assert found.loc[column, "information"] == pytest.approx(wanted, rel=1e-9)
    told = nb.design.ask_next(clf, X[:1].assign(**{column: pd.Series([None], dtype=X[column].dtype)}))
    assert column not in told.index
    assert told.attrs["not_asked"] == [column]


def test_an_array_has_one_feature_of_missing_cells_for_each_prior():
    X, y = gappy()
    numbers = X[["level", "amount", "visits"]].to_numpy()
    one = nb.Missing(prior=nb.Beta(1, 9))
    clf = nb.BayesianNB({0: one, 1: one, 2: "missing"}).fit(numbers, y)
    assert list(clf.describe().index) == ["x", "x0, x1 is missing", "x2 is missing"]
    named = nb.BayesianNB({"level": one, "amount": one, "visits": "missing"}).fit(X[["level", "amount", "visits"]], y)
    np.testing.assert_allclose(
        clf.predict_proba(numbers), named.predict_proba(X[["level", "amount", "visits"]]), rtol=1e-12
    )


def test_exponents_weigh_values_and_missing_cells_apart():
    X, y = gappy()
    clf = nb.BayesianNB("missing", dependence="weighted").fit(X, y)
    assert {"level", "level is missing", "kind is missing"} <= set(clf.exponents_.index.get_level_values(0))


def test_the_pymc_model_has_a_variable_for_the_missing_cells_of_each_column():
    X, y = gappy(40)
    clf = nb.BayesianNB("missing").fit(X[["level", "kind"]], y)
    model = clf.to_pymc()
    assert {"theta_level_is_missing", "theta_kind_is_missing"} <= set(model.named_vars)


def test_merging_with_a_model_that_does_not_count_missing_cells_is_refused():
    X, y = gappy()
    with pytest.raises(ValueError, match="level is missing"):
        nb.BayesianNB({"level": "missing"}).fit(X, y).merge(nb.BayesianNB().fit(X, y))


@pytest.fixture
def fitted_by_command(capsys):
    """Run the command that fits a model, which must succeed."""

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main(["fit", *map(str, arguments), "--dependence", "none"])
        assert ended.value.code == 0, capsys.readouterr().err

    return run


def test_the_command_line_counts_missing_cells(tmp_path, fitted_by_command):
    X, y = gappy()
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    model, smooth = str(tmp_path / "m.bayesnb"), nb.Categorical(nb.Dirichlet.m_estimate(2))
    for features, options in [
        ("missing", ["--feature", "missing"]),
        ({"visits": nb.Missing(nb.Poisson())}, ["--feature", "visits=missing:poisson"]),
        ({"visits": nb.Missing(nb.families.Hurdle(nb.Poisson()))}, ["--feature", "visits=missing:hurdle:poisson"]),
        ({"visits": nb.Missing(nb.Binned(edges=[1, 3]))}, ["--feature", "visits=missing:binned:1,3"]),
        ({"n": (nb.Missing(nb.Gaussian()), ["level", "amount"])}, ["--feature", "n=missing:gaussian:level,amount"]),
        (
            {"n": (nb.Missing(nb.Gaussian(), nb.Beta.m_estimate(2)), ["level", "amount"]), "kind": smooth},
            ["--feature", "n=missing:gaussian:level,amount", "--m", "2"],
        ),
        ({"kind": nb.Missing(smooth, nb.Beta.m_estimate(2))}, ["--feature", "kind=missing", "--m", "2"]),
    ]:
        fitted_by_command(tmp_path / "t.csv", "--target", "y", "-o", model, "--force", "--dependence", "none", *options)
        wanted = nb.BayesianNB(features).fit(X, y)
        np.testing.assert_allclose(nb.load(model).predict_proba(X), wanted.predict_proba(X), rtol=1e-9)


def test_inspect_says_where_missing_cells_depend_on_the_class():
    X, y = gappy()
    frame = X.assign(y=y)
    said = {remark.column: remark.said for remark in examine(frame, "y", len(frame)) if "missing" in remark.families}
    assert set(said) == {"level", "kind", "flag"}
    assert written(said["level"], "command").endswith("--feature level=missing")
    assert "visits" not in said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alike = frame.assign(y=np.random.default_rng(1).permutation(y))
        assert not [r for r in examine(alike, "y", len(alike)) if "missing" in r.families]


def test_predictive_checks_do_not_compare_a_column_with_its_flag():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"k": rng.choice(["a", "b"], 200), "x": rng.normal(size=200)})
    X = X.mask(rng.random(X.shape) < 0.3)
    y = rng.choice(["u", "v"], 200)
    checks = nb.checks.predictive_checks(nb.BayesianNB("missing", random_state=0).fit(X, y), X, y, draws=100).table
    pairs = {frozenset(pair) for pair in zip(checks["first"], checks["second"], strict=True)}
    assert frozenset(("k", "k is missing")) not in pairs
    assert frozenset(("x", "x is missing")) not in pairs
    assert frozenset(("k", "x is missing")) in pairs
    assert frozenset(("k is missing", "x is missing")) in pairs


def test_an_unseen_level_is_refused_with_the_number_of_levels_that_are_not_listed():
    levels = [f"L{k:02d}" for k in range(24)]
    clf = nb.BayesianNB(unseen="error").fit({"country": levels * 2}, ["a", "b"] * 24)
    with pytest.raises(ValueError, match=r"'L19'\] and 4 more"):
        clf.predict({"country": ["XX"]})
