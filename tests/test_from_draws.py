"""A model whose posterior is draws of an unedited PyMC model answers like the closed form."""

from __future__ import annotations

import pickle
import warnings
from functools import cache, partial

import numpy as np
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from test_draws import fitted
from test_generative import Written
from test_laws import FAMILIES
from xarray import DataTree

import bayesnb as nb
from bayesnb.chains import Convergence
from bayesnb.errors import ModelFileError, NoClosedFormError
from bayesnb.inference.questions import QUESTIONS
from bayesnb.model import normalize
from bayesnb.modelfile import document
from bayesnb.sampling import draws, trees


def errors_of(joint: np.ndarray) -> np.ndarray:
    """The Monte Carlo standard error of each class probability, (row, class), by the delta method."""
    relative = np.exp(joint - logsumexp(joint, axis=(0, 2), keepdims=True) + np.log(len(joint)))
    p = relative.mean(0)
    return (relative - p * relative.sum(-1, keepdims=True)).std(0) / np.sqrt(len(joint))


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * ("," in name)) for name in FAMILIES])
@pytest.mark.filterwarnings("ignore:class probabilities of")
def test_exact_draws_of_every_family_predict_as_the_closed_form_within_their_error(name, monkeypatch):
    if not FAMILIES[name][0].classes_apart:
        pytest.skip("the family is not written in PyMC")
    # To judge the convergence of independent draws took most of the time.
    monkeypatch.setattr(Convergence, "of", lambda *_: Convergence(1, 1, 1000, 0, "x"))
    written = Written.of([name])
    posterior, n = written.posterior, len(written.labels)
    tree = trees.build(draws.exact(posterior, default_rng(5), (4, 250)), posterior)
    drawn = draws.posterior_of(tree, posterior)
    closed, found = (np.exp(normalize(each.log_predictive(written.data, n))) for each in (posterior, drawn))
    error = errors_of(drawn.flat.log_joint(written.data, n))
    assert (np.abs(found - closed) <= 5 * error + 1e-12).all()
    assert error.max() < 0.06  # as of 1,000 draws


pytestmark = pytest.mark.filterwarnings("ignore:class probabilities of")


@pytest.fixture(scope="module")
def two():
    """A table of every family with gaps; its model, and the same model from exact draws."""
    clf, X, y = fitted(100)
    clf.set_params(random_state=1)
    return clf, nb.from_draws(clf, clf.sample_posterior(1000, 4)), X[:6], y[:6]


def test_predictions_intervals_entropies_and_tables_are_those_of_the_closed_form(two):
    clf, drawn, X, _ = two
    assert_allclose(drawn.predict_proba(X), clf.predict_proba(X), atol=0.02)
    for given in ("row", "data"):
        ours, theirs = (each.predict_interval(X, given=given) for each in (drawn, clf))
        assert ours.attrs["given"] == given
        assert ours.attrs["mcse"] < 0.05
        assert_allclose(ours, theirs, atol=5 * ours.attrs["mcse"])
    ours, theirs = (each.uncertainty(X) for each in (drawn, clf))
    assert_array_equal(ours["prediction"], theirs["prediction"])
    assert_allclose(ours[["top", "total", "epistemic"]], theirs[["top", "total", "epistemic"]], atol=0.06)
    ours, theirs = drawn.tables(), clf.tables()
    assert [*ours] == [*theirs]
    for name, table in theirs.items():
        assert_allclose(ours[name], table, rtol=0.15, atol=0.02)
        assert ours[name].index.equals(table.index)


def test_contributions_are_those_of_the_closed_form_and_sum_to_the_total(two):
    clf, drawn, X, _ = two
    ours, theirs = drawn.explain(X, label="a", against="b"), clf.explain(X, label="a", against="b")
    without = ours.drop(index="(averaging)", level="entry")
    assert without.index.equals(theirs.index)
    assert_array_equal(without["missing"], theirs["missing"])
    assert_allclose(without["log_odds"], theirs["log_odds"], atol=0.15)
    assert_allclose(without[["lower", "upper"]], theirs[["lower", "upper"]], atol=0.3)
    rows = ours["log_odds"].groupby("row")
    assert_allclose(rows.sum() - rows.last(), rows.last(), atol=1e-9)


def test_at_the_posterior_mean_contributions_leave_nothing_to_averaging():
    X, y = nb.datasets.penguins()
    clf = nb.BayesianNB(estimate="mean", random_state=0).fit(X, y)
    ours = nb.from_draws(clf, clf.sample_posterior()).explain(X[:5])
    assert "(averaging)" not in ours.index.get_level_values("entry")
    assert_allclose(ours["log_odds"], clf.explain(X[:5])["log_odds"], atol=0.1)


def dependent(clf: nb.BayesianNB, seed: int = 0) -> DataTree:
    """Draws whose parameters depend on each other across columns and classes: each variable is sorted over draws."""
    tree = clf.sample_posterior(500, 4, random_seed=seed)
    posterior = tree["posterior"].to_dataset()
    for name in ("mu_x", "mu_z"):
        posterior[name] = (posterior[name].dims, np.sort(posterior[name].to_numpy(), axis=1))
    tree["posterior"] = DataTree(posterior)
    return tree


@pytest.mark.filterwarnings("ignore:(the chains|class probabilities|feature)")
def test_dependent_parameters_are_averaged_together():
    clf, X, _ = fitted()
    tree = dependent(clf)
    drawn = nb.from_draws(clf, tree)
    data, n = clf.classifier_.read(X)
    joint = draws.parameters(tree, clf.posterior_).flattened().log_joint(data, n)
    by_hand = softmax(logsumexp(joint, axis=0), axis=-1)
    assert_allclose(drawn.predict_proba(X), by_hand, rtol=1e-9)
    assert np.abs(by_hand - clf.predict_proba(X)).max() > 0.03
    # Given the row, the draws have weights p(x | θ): their mean is the ratio of mean joints.
    of_draws = nb.draws.sample_proba(drawn, X, draws=2000)
    assert_allclose(of_draws.mean(0), by_hand, atol=0.02)
    weight = softmax(logsumexp(joint, axis=-1), axis=0)
    order = np.argsort(softmax(joint, axis=-1)[..., 0], axis=0)
    below = np.take_along_axis(weight, order, 0).cumsum(0)
    middle = [order[np.searchsorted(below[:, i], 0.5), i] for i in range(n)]
    medians = softmax(joint, axis=-1)[middle, np.arange(n), 0]
    assert_allclose(drawn.predict_interval(X)["a", "median"], medians, atol=0.03)
    averaging = drawn.explain(X)["log_odds"].xs("(averaging)", level="entry")
    assert averaging.abs().max() > 0.03


def test_a_row_is_answered_alike_alone_and_among_others(two):
    _, drawn, X, _ = two
    for ask in (drawn.predict_interval, drawn.uncertainty, drawn.explain):
        whole, alone = ask(X[3:]), ask(X[4:5])
        numbers = alone.select_dtypes("number")
        part = whole.loc[[4]]
        assert_allclose(part[numbers.columns], numbers, rtol=1e-9)


def test_new_rows_are_drawn_from_the_draws():
    X, y = nb.datasets.heights()
    clf = nb.BayesianNB(random_state=0).fit(X, y)
    tree = clf.sample_posterior()
    posterior = tree["posterior"].to_dataset()
    posterior["mu_height_cm"] = posterior["mu_height_cm"] + 100
    tree["posterior"] = DataTree(posterior)
    rows = nb.draws.sample(nb.from_draws(clf, tree), 2000)
    assert_allclose(rows["height_cm"].mean() - nb.draws.sample(clf, 2000)["height_cm"].mean(), 100, atol=2)


# The tree


@pytest.mark.filterwarnings("ignore:class probabilities of", "ignore:the chains of the draws did not converge")
def test_other_variables_order_and_missing_coordinates_do_not_matter(tmp_path):
    import arviz as az

    clf, X, _ = fitted()
    tree = clf.sample_posterior(50, 2, random_seed=0)
    plain = nb.from_draws(clf, tree).predict_joint_log_proba(X)
    posterior = tree["posterior"].dataset
    turned = posterior.isel(class_label=[2, 0, 1], two_category=[1, 0]).transpose(..., "draw", "chain")
    more = turned.assign(center=("draw", np.zeros(50)), extra=("class_label", np.zeros(3)))
    bare = posterior.drop_vars(["class_label", "words_category"])
    for dataset in (more, bare):
        found = nb.from_draws(clf, DataTree(children={"posterior": DataTree(dataset)}))
        assert_allclose(found.predict_joint_log_proba(X), plain, rtol=1e-12)
    tree.to_netcdf(tmp_path / "tree.nc")
    back = nb.from_draws(clf, az.from_netcdf(tmp_path / "tree.nc"))
    assert_allclose(back.predict_joint_log_proba(X), plain, rtol=1e-12)


WRONG = {
    "no group": (lambda p: None, "a group 'posterior'"),
    "missing": (lambda p: p.drop_vars("mu_x"), "no variable 'mu_x'"),
    "misnamed": (lambda p: p.rename(mu_known="mu_knwon"), "no variable 'mu_known'; did you mean 'mu_knwon'"),
    "without an axis": (lambda p: p.assign(mu_x=p["mu_x"][..., 0]), "variable 'mu_x' to have the dimensions"),
    "another axis": (lambda p: p.assign(mu_x=p["mu_x"].rename(class_label="z")), r"got \(chain: 2, draw: 9, z: 3\)"),
    "other classes": (lambda p: p.assign_coords(class_label=["a", "b", "d"]), "class_label to be"),
    "fewer classes": (lambda p: p.isel(class_label=[0, 1]), r"class_label: 2"),
    "other levels": (lambda p: p.assign_coords(two_category=["p", "z"]), "two_category to be"),
    "NaN": (lambda p: p.assign(tau_z=p["tau_z"] * np.nan), "finite draws of variable 'tau_z'"),
    "another column": (lambda p: p.assign(mu_age=p["mu_x"]), "no variable 'mu_age'"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_tree_of_another_model_is_refused_and_the_variable_is_named(fault):
    clf, *_ = fitted()
    change, said = WRONG[fault]
    dataset = change(clf.sample_posterior(9, 2, random_seed=0)["posterior"].dataset)
    tree = DataTree() if dataset is None else DataTree(children={"posterior": DataTree(dataset)})
    with pytest.raises(ValueError, match=said):
        nb.from_draws(clf, tree)


def test_draws_that_did_not_converge_and_a_large_error_are_warned_of():
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB(random_state=0).fit(X, y)
    few = nb.from_draws(clf, clf.sample_posterior(50, 4))
    with pytest.warns(UserWarning, match="the chains|class probabilities") as said:
        few.predict_proba(X)
    messages = [str(each.message) for each in said]
    assert len(messages) == 2
    assert messages[0].startswith("the chains of the draws did not converge (only ")
    assert "have a Monte Carlo standard error above 0.01" in messages[1]


# What draws do not answer


def test_what_needs_the_closed_form_is_refused_by_name_and_nothing_changes(two):
    clf, drawn, X, y = two
    before = drawn.predict_proba(X)
    refused = {
        "forget": lambda: drawn.forget(X[:2], y[:2]),
        "partial_fit": lambda: drawn.partial_fit(X[:2], y[:2]),
        "discount": lambda: drawn.discount(0.5),
        "merge": lambda: drawn.merge(clf),
        "loo": lambda: drawn.loo(X, y),
        "with_class_prior": lambda: nb.deploy.with_class_prior(drawn, "uniform"),
        "the evidence": lambda: drawn.classifier_.log_evidence(),
        'estimate="map"': lambda: drawn.classifier_.with_estimate("map"),
        "cv=5": lambda: nb.evaluate(drawn, X, y, cv=5),
    }  # fmt: skip
    refused |= {name: partial(QUESTIONS[name].function, drawn, X) for name in ("fill_in", "sensitivity", "log_odds")}
    refused |= {name: partial(QUESTIONS[name].function, drawn) for name in ("to_sql", "compile")}
    for name, ask in refused.items():
        with pytest.raises(NoClosedFormError, match=f"^{name} needs the posterior in closed form") as error:
            ask()
        assert error.value.draws == 4_000
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    with pytest.raises(AttributeError, match="the evidence needs the posterior in closed form"):
        drawn.log_evidence_  # noqa: B018
    assert_array_equal(drawn.predict_proba(X), before)
    assert_allclose(clone(drawn).fit(X, y).class_count_.sum(), len(y))


def test_draws_of_parameters_are_none_of_a_dependence_or_of_a_mode():
    X, y = nb.datasets.play_tennis()
    plain = nb.BayesianNB(random_state=0).fit(X, y)
    tree = plain.sample_posterior(200, 2)
    with pytest.raises(ValueError, match="do not include the exponents"):
        nb.from_draws(nb.BayesianNB(dependence="weighted").fit(X, y), tree)
    with pytest.raises(NoClosedFormError, match='estimate="mle"'):
        nb.from_draws(nb.BayesianNB(estimate="mle").fit(X, y), tree)


# Files


def test_a_model_of_draws_is_saved_and_answers_alike(two, tmp_path):
    _, drawn, X, _ = two
    drawn.save(tmp_path / "m")
    for again in (nb.load(tmp_path / "m"), pickle.loads(pickle.dumps(drawn))):
        assert_array_equal(again.predict_proba(X), drawn.predict_proba(X))
        assert_array_equal(again.predict_interval(X), drawn.predict_interval(X))
        with pytest.raises(NoClosedFormError):
            again.discount(0.5)


LIES = {
    "no class": lambda d: d | {"log_pi": d["log_pi"][..., :2]},
    "a feature less": lambda d: d | {"features": {k: v for k, v in d["features"].items() if k != "both"}},
    "another shape": lambda d: d | {"features": d["features"] | {"known": {"mu": d["log_pi"][..., None, None]}}},
    "not a number": lambda d: d | {"log_pi": d["log_pi"] * np.nan},
    "no diagnostics": lambda d: d | {"convergence": None},
    "another part": lambda d: d | {"more": 1},
}


@cache
def of_five_draws() -> nb.BayesianNB:
    clf, *_ = fitted()
    return nb.from_draws(clf, clf.sample_posterior(5, 2))


@pytest.mark.parametrize("lie", LIES)
def test_a_file_with_draws_of_other_parameters_is_refused(lie, tmp_path):
    from dataclasses import replace

    drawn = of_five_draws()
    contents = document.Contents.of(drawn.get_params(deep=False), drawn.classifier_)
    document.write(replace(contents, drawn=LIES[lie](contents.drawn)), tmp_path / "m")
    with pytest.raises(ModelFileError):
        nb.load(tmp_path / "m")


def test_a_file_of_a_model_in_closed_form_has_no_draws_and_an_older_file_is_read(tmp_path, monkeypatch):
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB().fit(X, y)
    assert document.Contents.of(clf.get_params(deep=False), clf.classifier_).drawn == {}
    monkeypatch.setattr(document, "WRITTEN", tuple(name for name in document.WRITTEN if name != "drawn"))
    clf.save(tmp_path / "old")
    monkeypatch.undo()
    assert_array_equal(nb.load(tmp_path / "old").predict_proba(X), clf.predict_proba(X))


# Trees, verify, and sampled columns


def test_the_draws_are_a_tree_again_and_are_verified(two):
    clf, drawn, X, y = two
    assert drawn.verify(X).agrees
    tree = drawn.sample_posterior(100, 2, X=X, y=y)
    assert {"posterior", "log_likelihood", "observed_data"} <= {*tree.children}
    assert "prior" not in tree.children
    assert dict(drawn.sample_posterior()["posterior"].sizes)["draw"] == 1000
    with pytest.raises(ValueError, match="at most 4 chains of 1000 draws"):
        drawn.sample_posterior(3000)
    moved = clf.sample_posterior(500, 4)
    posterior = moved["posterior"].dataset
    moved["posterior"] = DataTree(posterior.assign(mu_x=posterior["mu_x"] + 3))
    assert not nb.from_draws(clf, moved).verify(X).agrees


@pytest.mark.nuts
@pytest.mark.parametrize("names", [("categorical", "bernoulli"), ("gaussian", "poisson")])
def test_draws_of_nuts_predict_as_the_closed_form(names):
    import pymc as pm

    columns = {"categorical": "levels", "bernoulli": "flag", "gaussian": "real", "poisson": "count"}
    X, y = mixed(60, "uv", {name: columns[name] for name in names}, missing=0.2)
    clf = nb.BayesianNB(dict(zip(names, names, strict=True)), random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = pm.sample(1500, tune=500, chains=4, cores=1, model=clf.to_pymc(), progressbar=False, random_seed=1,
                         compute_convergence_checks=False)  # fmt: skip
    drawn = nb.from_draws(clf, tree)
    assert_allclose(drawn.predict_proba(X), clf.predict_proba(X), atol=0.02)
    assert drawn.verify(X).agrees
