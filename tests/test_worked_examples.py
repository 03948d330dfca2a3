"""The rules of the textbooks, at their tables; ``references.json`` has the numbers that they print."""

from __future__ import annotations

from math import inf, lgamma, log

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.feature_extraction.text import CountVectorizer

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Binned,
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    NormalGamma,
    Poisson,
    datasets,
)
from bayesnb.families import GaussianKnownVariance, LogNormal

# Play tennis (Mitchell 1997, 6.9.1)

SUNNY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
DAYS = pd.DataFrame(
    [SUNNY, SUNNY | {"outlook": "overcast"}, SUNNY | {"outlook": None}], index=["sunny", "overcast", "unknown"]
)


def tennis(**settings) -> BayesianNB:
    """A classifier that has learned the fourteen days."""
    return BayesianNB(**settings).fit(*datasets.play_tennis())


def all_categorical(X: pd.DataFrame, prior: Dirichlet) -> dict[str, Categorical]:
    return dict.fromkeys(X, Categorical(prior))


WEATHER = datasets.play_tennis()[0]


def test_the_predicted_class_has_the_largest_sum_of_logarithms():
    clf = tennis()
    tables, today = clf.tables(), DAYS.loc[["sunny"]]
    sums = np.log(tables["(class)"]["probability"]) + sum(np.log(tables[column][SUNNY[column]]) for column in SUNNY)
    assert_allclose(clf.predict_joint_log_proba(today)[0], sums[clf.classes_], rtol=1e-12)
    assert clf.predict(today)[0] == sums.idxmax() == "no"


# A zero count


def test_a_zero_count_gives_a_class_probability_0_whatever_the_other_features_are():
    clf = tennis(estimate="mle")
    assert clf.tables()["outlook"].loc["no", "overcast"] == 0
    assert clf.predict_joint_log_proba(DAYS.loc[["overcast"]])[0, 0] == -inf


@pytest.mark.parametrize("estimate", ["predictive", "mean"])
@pytest.mark.parametrize("alpha", [1, 0.5, 1e-3, 1e-150])
def test_a_zero_count_rules_out_no_class_under_a_proper_prior(alpha, estimate):
    clf = tennis(features=all_categorical(WEATHER, Dirichlet(alpha)), estimate=estimate)
    log_proba = clf.predict_log_proba(DAYS.loc[["overcast"]])[0]
    assert np.isfinite(log_proba).all()
    # The price is one factor: that of the cell nobody counted.
    assert clf.tables()["outlook"].loc["no", "overcast"] == pytest.approx(alpha / (5 + 3 * alpha), rel=1e-12)


# Smoothing, through what was fitted


@pytest.mark.parametrize("alpha", [0.1, 1, 2.5])
def test_laplaces_estimate_is_n_plus_alpha_over_total_plus_k_alpha(alpha):
    X, y = datasets.play_tennis()
    tables = tennis(features=all_categorical(X, Dirichlet.laplace(alpha))).tables()
    for column in X:
        n = pd.crosstab(y, X[column])
        expected = (n + alpha).div(n.sum(axis=1) + alpha * n.shape[1], axis=0)
        assert_allclose(tables[column][n.columns], expected, rtol=1e-14)


@pytest.mark.parametrize("m", [0.5, 3, 10])
def test_the_m_estimate_is_n_plus_m_p_over_total_plus_m(m):
    X, y = datasets.play_tennis()
    p = {"sunny": 0.5, "overcast": 0.2, "rain": 0.3}
    told = {"outlook": Categorical(Dirichlet.m_estimate(m, p)), "wind": Categorical(Dirichlet.m_estimate(m))}
    tables = tennis(features=told).tables()
    for column, share in (("outlook", pd.Series(p)), ("wind", pd.Series({"strong": 0.5, "weak": 0.5}))):
        n = pd.crosstab(y, X[column])
        by_hand = (n + m * share[n.columns]).div(n.sum(axis=1) + m, axis=0)
        assert_allclose(tables[column][n.columns], by_hand, rtol=1e-14)


def test_the_class_probabilities_are_smoothed_by_default_and_counted_on_request():
    assert_allclose(tennis().tables()["(class)"]["probability"], [6 / 16, 10 / 16], rtol=1e-14)
    counted = tennis(class_prior="frequencies").tables()["(class)"]["probability"]
    assert_allclose(counted, [5 / 14, 9 / 14], rtol=1e-14)


# Heights: real numbers, and both textbook variances

VARIANCES = {
    "N, by maximum likelihood": (None, "mle", 0),
    "N, by the mode under the flat prior": (Gaussian(NormalGamma.flat()), "map", 0),
    "N - 1, by the mean under the reference prior": (Gaussian(NormalGamma.reference()), "mean", 1),
}


def test_the_maximum_likelihood_mean_of_a_normal_of_known_variance_is_the_average():
    X, y = datasets.heights()
    tables = BayesianNB(GaussianKnownVariance(variance=50.0), estimate="mle").fit(X, y).tables()
    for column in X:
        assert_allclose(tables[column]["mean"], X[column].groupby(y).mean(), rtol=1e-14)


@pytest.mark.parametrize(("features", "estimate", "ddof"), VARIANCES.values(), ids=VARIANCES)
def test_the_variance_of_the_heights_has_the_chosen_divisor(features, estimate, ddof):
    X, y = datasets.heights()
    tables = BayesianNB(features, estimate=estimate).fit(X, y).tables()
    for column in X:
        for gender, values in X[column].groupby(y):
            found = tables[column].loc[gender]
            assert found["mean"] == pytest.approx(np.mean(values), rel=1e-14)
            assert found["sd"] ** 2 == pytest.approx(np.var(values, ddof=ddof), rel=1e-12)


def test_gender_is_predicted_by_the_normal_densities_of_height_and_weight():
    X, y = datasets.heights()
    new = pd.DataFrame({"height_cm": [160.0, 171.0, 190.0], "weight_kg": [55.0, 70.0, 90.0]})
    clf = BayesianNB(estimate="mle").fit(X, y)
    by_hand = []
    for gender in clf.classes_:
        own = X[y == gender]
        mu, variance = own.mean(), own.var(ddof=0)
        log_density = -0.5 * np.log(2 * np.pi * variance) - (new - mu) ** 2 / (2 * variance)
        by_hand.append(log((y == gender).mean()) + log_density.sum(axis=1))
    assert_allclose(clf.predict_joint_log_proba(new), np.transpose(by_hand), rtol=1e-12)
    assert clf.predict(new.iloc[[0, 2]]).tolist() == ["female", "male"]


# Posts: the same text as a set of words and as a bag of words

NEW_POSTS = ["clown clown go home", "thank you for a good show", "you are good you silly"]


def word_counts(set_of_words: bool):
    """The posts and three new ones as sparse matrices, and whether each post is abusive."""
    X, y = datasets.posts()
    vectorizer = CountVectorizer(token_pattern=r"\S+", binary=set_of_words)
    return vectorizer.fit_transform(X["text"]), vectorizer.transform(NEW_POSTS), y.to_numpy()


def log_orders(words: np.ndarray) -> np.ndarray:
    """ln N! - Σ ln n_k!, the number of orders in which the words of each post could have come."""
    return np.array([lgamma(row.sum() + 1) - sum(lgamma(k + 1) for k in row) for row in words])


def test_a_set_of_words_has_one_bernoulli_factor_for_each_word_also_for_absent_ones():
    seen, new, y = word_counts(set_of_words=True)
    posts, x, by_hand = seen.toarray(), new.toarray(), []
    for label in ("no", "yes"):
        own = posts[y == label]
        theta = (own.sum(axis=0) + 1) / (len(own) + 2)
        by_hand.append(np.log((len(own) + 1) / (6 + 2)) + (x * np.log(theta) + (1 - x) * np.log1p(-theta)).sum(axis=1))
    clf = BayesianNB(Bernoulli()).fit(seen, y)
    assert_allclose(clf.predict_joint_log_proba(new), np.transpose(by_hand), rtol=1e-12)
    assert clf.predict(new).tolist() == ["yes", "no", "yes"]


def test_a_bag_of_words_with_plugged_in_means_is_a_product_over_words():
    seen, new, y = word_counts(set_of_words=False)
    posts, x, by_hand = seen.toarray(), new.toarray(), []
    for label in ("no", "yes"):
        n = posts[y == label].sum(axis=0)
        theta = (n + 1) / (n.sum() + len(n))
        by_hand.append(np.log(4 / 8) + x @ np.log(theta) + log_orders(x))
    clf = BayesianNB(Multinomial(), estimate="mean").fit(seen, y)
    assert_allclose(clf.predict_joint_log_proba(new), np.transpose(by_hand), rtol=1e-12)
    assert clf.predict(new).tolist() == ["yes", "no", "yes"]


def test_the_default_predictive_of_a_bag_of_words_is_polyas_urn():
    seen, new, y = word_counts(set_of_words=False)
    posts, x, by_hand = seen.toarray(), new.toarray(), np.zeros((len(NEW_POSTS), 2))
    for c, label in enumerate(("no", "yes")):
        for i, row in enumerate(x):
            # Words are drawn one after the other, each put back with a copy of itself (Pólya's urn).
            urn = posts[y == label].sum(axis=0) + 1.0
            by_hand[i, c] = np.log(4 / 8) + log_orders(x)[i]
            for word in np.repeat(np.arange(len(row)), row):
                by_hand[i, c] += np.log(urn[word] / urn.sum())
                urn[word] += 1
    clf = BayesianNB().fit(seen, y)
    assert_allclose(clf.predict_joint_log_proba(new), by_hand, rtol=1e-12)
    plug_in = BayesianNB(estimate="mean").fit(seen, y)
    assert np.abs(clf.predict_proba(new) - plug_in.predict_proba(new)).max() > 0.01


def test_repeating_a_word_changes_the_bag_but_not_the_set():
    X, y = datasets.posts()
    bag, words = (CountVectorizer(token_pattern=r"\S+", binary=binary).fit(X["text"]) for binary in (False, True))
    in_bag = BayesianNB().fit(bag.transform(X["text"]), y)
    in_set = BayesianNB(Bernoulli()).fit(words.transform(X["text"]), y)
    once, twice = ["a clown"], ["a clown clown"]
    assert_allclose(in_set.predict_proba(words.transform(once)), in_set.predict_proba(words.transform(twice)))
    assert in_bag.predict_proba(bag.transform(twice))[0, 1] > in_bag.predict_proba(bag.transform(once))[0, 1] + 0.05


# A missing feature


@pytest.mark.parametrize("estimate", ["mle", "mean", "predictive"])
def test_dropping_a_factor_equals_summing_over_its_levels(estimate):
    clf, today = tennis(estimate=estimate), DAYS.loc[["sunny"]]
    for column in WEATHER:
        each = [clf.predict_joint_log_proba(today.assign(**{column: level})) for level in WEATHER[column].unique()]
        without = clf.predict_joint_log_proba(today.assign(**{column: None}))
        assert_allclose(logsumexp(each, axis=0), without, rtol=1e-12)


@pytest.mark.parametrize("estimate", ["mean", "predictive"])
def test_dropping_a_density_equals_integrating_over_its_values(estimate):
    clf = BayesianNB(estimate=estimate).fit(*datasets.heights())
    height = np.linspace(-500, 840, 20_001)
    joint = np.exp(clf.predict_joint_log_proba(pd.DataFrame({"height_cm": height, "weight_kg": 70.0})))
    without = np.exp(clf.predict_joint_log_proba(pd.DataFrame({"height_cm": [np.nan], "weight_kg": [70.0]})))
    assert_allclose(np.trapezoid(joint, height, axis=0), without[0], rtol=1e-9)


def test_dropping_a_factor_equals_fitting_without_the_column():
    X, y = datasets.play_tennis()
    without = BayesianNB().fit(X.drop(columns="outlook"), y)
    today = DAYS.loc[["unknown"]]
    assert_allclose(tennis().predict_proba(today), without.predict_proba(today.drop(columns="outlook")), rtol=1e-12)


# Classes fitted apart, and added later


@pytest.mark.parametrize("estimate", ["mle", "mean", "predictive"])
@pytest.mark.parametrize("name", ["play-tennis", "buys-computer", "heights"])
def test_merging_separately_fitted_classes_equals_fitting_them_together(name, estimate):
    X, y = datasets.load(name)
    first, second = (BayesianNB(estimate=estimate).fit(X[y == label], y[y == label]) for label in sorted(y.unique()))
    whole = BayesianNB(estimate=estimate).fit(X, y)
    added = first.merge(second)
    assert added.classes_.tolist() == whole.classes_.tolist()
    assert_allclose(added.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-12)


def test_a_class_can_be_added_later():
    X, y = datasets.penguins()
    late = y == "Gentoo"
    clf = BayesianNB().fit(X[~late], y[~late])
    assert clf.classes_.tolist() == ["Adelie", "Chinstrap"]
    clf.partial_fit(X[late], y[late])
    assert clf.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    whole = BayesianNB().fit(X, y)
    assert_allclose(clf.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-12)


def test_a_class_can_be_declared_before_it_has_a_row():
    X, y = datasets.play_tennis()
    clf = BayesianNB().partial_fit(X, y, classes=["maybe", "no", "yes"])
    # Nothing was counted in it: one imaginary row of 17 for the class, and uniform levels.
    joint = np.exp(clf.predict_joint_log_proba(DAYS.loc[["sunny"]]))[0, 0]
    assert joint == pytest.approx(1 / 17 * 1 / 3 * 1 / 3 * 1 / 2 * 1 / 2, rel=1e-12)


def test_every_example_updates_the_model():
    X, y = datasets.play_tennis()
    clf = BayesianNB()
    for day in range(len(X)):
        clf.partial_fit(X.iloc[[day]], y.iloc[[day]])
    assert_allclose(clf.predict_proba(DAYS), tennis().predict_proba(DAYS), rtol=1e-12)


# The ratio of averages is not the average of ratios


def test_the_average_over_draws_given_the_data_of_the_class_probability_differs_from_the_predictive():
    clf = tennis(random_state=1)
    p_no = nb.draws.sample_proba(clf, DAYS.loc[["sunny"]], draws=40_000, given="data")[:, 0, 0]
    error = p_no.std() / np.sqrt(len(p_no))
    assert p_no.mean() == pytest.approx(0.679, abs=5 * error + 5e-4)  # 0.679 is itself rounded
    assert clf.predict_proba(DAYS.loc[["sunny"]])[0, 0] == pytest.approx(0.7353, abs=5e-5)
    assert 0.7353 - p_no.mean() > 30 * error


def test_the_ratio_of_averages_over_draws_is_the_predictive():
    clf = tennis()
    data, n = clf.classifier_.read(DAYS.loc[["sunny"]])
    joint = np.exp(clf.posterior_.draw(np.random.default_rng(1), (40_000,)).log_joint(data, n))[:, 0]
    ratio = joint[:, 0].mean() / joint.sum(axis=1).mean()
    # The error of a ratio of means, to first order.
    error = (joint[:, 0] - ratio * joint.sum(axis=1)).std() / joint.sum(axis=1).mean() / np.sqrt(len(joint))
    assert ratio == pytest.approx(clf.predict_proba(DAYS.loc[["sunny"]])[0, 0], abs=5 * error)


# The classifier as softmax regression


def counts_table() -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(0)
    labels = list("abc") * 8
    rates = [{"a": [0.5, 4, 1], "b": [2, 1, 1], "c": [1, 2, 6]}[label] for label in labels]
    return pd.DataFrame(rng.poisson(rates), columns=["red", "green", "blue"]), labels


def yes_no_table() -> tuple[pd.DataFrame, list[str]]:
    X, y = counts_table()
    return (X > 1).astype(int), y


LINEAR = {
    "categorical": (datasets.play_tennis, {}),
    "categorical, plug-in": (datasets.buys_computer, {"estimate": "mean"}),
    "Bernoulli": (yes_no_table, {}),
    "Bernoulli, plug-in": (yes_no_table, {"features": Bernoulli(Beta(2, 3)), "estimate": "map"}),
    "multinomial": (counts_table, {"features": Multinomial(), "estimate": "mean"}),
    "Poisson": (counts_table, {"features": Poisson(), "estimate": "mean"}),
    "normal of known variance": (
        datasets.heights,
        {"features": GaussianKnownVariance(variance=50.0), "estimate": "mean"},
    ),
    "mixed": (
        datasets.heights,
        {"features": {"height_cm": GaussianKnownVariance(variance=50.0), "weight_kg": Binned(4)}, "estimate": "mean"},
    ),
}


def linear_scores(clf: BayesianNB, X: pd.DataFrame, quadratic: bool = False) -> np.ndarray:
    """γ_c + β_c · φ(x), with φ(x) the value of a number, or its logarithm, and 1 at the level that a row has."""
    weights, intercept = nb.odds.linear_form(clf, quadratic)
    scores = np.tile(intercept.to_numpy(), (len(X), 1))
    for (column, level), beta in zip(weights.index, weights.to_numpy(), strict=True):
        x = X[column].to_numpy()
        if str(level).endswith(")"):
            low, high = (float(edge) for edge in level[1:-1].split(","))
            x = (low <= x) & (x < high)
        elif level in ("ln", "ln²"):
            x = np.log(x) ** (1 + (level == "ln²"))
        elif level == column:
            x = x**2
        elif level != "":
            x = x == level
        scores += np.outer(x, beta)
    return scores


@pytest.mark.parametrize(("table", "settings"), LINEAR.values(), ids=LINEAR)
def test_the_log_odds_are_linear(table, settings):
    X, y = table()
    clf = BayesianNB(**settings).fit(X, y)
    scores, log_proba = linear_scores(clf, X), clf.predict_log_proba(X)
    assert_allclose(scores - scores[:, :1], log_proba - log_proba[:, :1], rtol=1e-9, atol=1e-9)
    assert np.ptp(log_proba[:, 1] - log_proba[:, 0]) > 1


def test_the_log_odds_of_a_log_normal_are_linear_in_the_logarithm_if_the_variances_are_equal():
    amounts = pd.DataFrame({"amount": np.exp([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])})
    equal = LogNormal(NormalGamma(m=0, kappa=1, a=2, b=1))
    clf = BayesianNB(equal, estimate="mean").fit(amounts, list("aaabbb"))
    assert nb.odds.linear_form(clf)[0].index.tolist() == [("amount", "ln")]
    new = pd.DataFrame({"amount": [0.01, 0.7, 5.0]})
    scores, log_proba = linear_scores(clf, new), clf.predict_log_proba(new)
    assert_allclose(scores - scores[:, :1], log_proba - log_proba[:, :1], rtol=1e-9)

    X, y = datasets.heights()
    clf = BayesianNB({"height_cm": LogNormal()}, estimate="mean").fit(X, y)
    with pytest.raises(ValueError, match="quadratic=True"):
        nb.odds.linear_form(clf)
    terms = nb.odds.linear_form(clf, quadratic=True)[0].index.tolist()
    assert {("height_cm", "ln"), ("height_cm", "ln²"), ("weight_kg", "weight_kg")} < {*terms}
    scores, log_proba = linear_scores(clf, X, quadratic=True), clf.predict_log_proba(X)
    assert_allclose(scores - scores[:, :1], log_proba - log_proba[:, :1], rtol=1e-7, atol=1e-7)


# Binning


def cut_of(clf: BayesianNB, column: str) -> tuple[float, ...]:
    return clf.classifier_.schema.features[column].cuts[0].edges


def test_bins_divide_the_range_that_was_fitted_into_equal_widths_or_equally_many_rows():
    X, y = datasets.heights()
    height = X["height_cm"]
    edges = cut_of(BayesianNB({"height_cm": Binned(5)}).fit(X, y), "height_cm")
    assert_allclose(edges, np.linspace(height.min(), height.max(), 6)[1:-1], rtol=1e-12)
    edges = cut_of(BayesianNB({"height_cm": Binned(4, cut="count")}).fit(X, y), "height_cm")
    assert np.bincount(np.digitize(height, edges)).tolist() == [10, 10, 10, 10]


def test_the_edges_of_bins_belong_to_the_fitted_model_and_the_outer_bins_are_open():
    X, y = datasets.heights()
    height = X[["height_cm"]]
    clf = BayesianNB({"height_cm": Binned(5)}).fit(height, y)
    edges, before = cut_of(clf, "height_cm"), clf.predict_proba(height)
    assert_allclose(clf.predict_proba(height.head(3)), before[:3], rtol=0)
    edge = clf.predict_proba(pd.DataFrame({"height_cm": [height.min().item(), height.max().item()]}))
    beyond = clf.predict_proba(pd.DataFrame({"height_cm": [-1e150, 1e150]}))
    assert_allclose(beyond, edge, rtol=0)
    assert beyond[0, 0] > 0.5 > beyond[1, 0]
    clf.partial_fit(pd.DataFrame({"height_cm": [20.0, 5000.0]}), ["female", "male"])
    assert cut_of(clf, "height_cm") == edges
    assert clf.tables()["height_cm"].shape == (2, 5)


def test_an_empty_bin_has_its_prior_mass():
    x = pd.DataFrame({"x": [1.0, 2.0, 2.5, 31.0, 35.0]})
    y = ["a", "a", "b", "b", "b"]
    table = BayesianNB({"x": Binned(edges=[10.0, 20.0, 30.0], prior=Dirichlet(0.5))}).fit(x, y).tables()["x"]
    assert list(table) == ["(-inf, 10)", "[10, 20)", "[20, 30)", "[30, inf)"]
    assert_allclose(table.loc["a"], [2.5 / 4, 0.5 / 4, 0.5 / 4, 0.5 / 4], rtol=1e-14)
    assert_allclose(table.loc["b"], [1.5 / 5, 0.5 / 5, 0.5 / 5, 2.5 / 5], rtol=1e-14)


def test_a_binned_column_equals_a_categorical_column_of_its_intervals():
    X, y = datasets.heights()
    binned = BayesianNB(Binned(edges=[165.0, 172.0])).fit(X[["height_cm"]], y)
    by_hand = pd.DataFrame({"height_cm": pd.cut(X["height_cm"], [-inf, 165, 172, inf], right=False).astype(str)})
    assert_allclose(binned.predict_proba(X[["height_cm"]]), BayesianNB().fit(by_hand, y).predict_proba(by_hand))
