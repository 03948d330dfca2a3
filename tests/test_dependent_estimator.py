"""The estimator where features may depend on each other: what it learns, answers, keeps and refuses."""

from __future__ import annotations

import json
import pickle
from contextlib import nullcontext
from copy import deepcopy
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import mixed, shown
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from test_generative import IN_PYTHON
from xarray import DataTree

import bayesnb as nb
from bayesnb import BayesianNB, Exponents, Poisson, datasets, load
from bayesnb.chains import Convergence
from bayesnb.data.rows import TrainingRows
from bayesnb.dependence import program
from bayesnb.dependence.exponents import NoExponentsError
from bayesnb.dependence.likelihood import log_likelihood
from bayesnb.errors import ImpossibleRowError, ModelFileError
from bayesnb.families import StudentT
from bayesnb.inference.leave_one_out import left_out_scores
from bayesnb.inference.to_pymc import NAIVE
from tests.model_files import array, cell, changed

HOW = ["tempered", "pairwise", Exponents(by="class", pairs=3)]


def table(n: int = 90, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Rows of three classes with every kind of column, two of which say nearly the same."""
    columns = {"size": "real", "copy": "noise", "colour": "levels", "calls": "count", "member": "flag"}
    X, y = mixed(n, "abc", columns, seed, missing=0.0)
    X["copy"] = X["size"] + 0.1 * X["copy"]
    X.loc[::9, "size"] = np.nan
    return X, pd.Series(y, name="kind")


FEATURES = {"calls": Poisson()}


@cache
def learned(how, n: int = 90, **others) -> BayesianNB:
    return BayesianNB(FEATURES, dependence=how, **others).fit(*table(n))


def fitted(*how, **others) -> BayesianNB:
    """A classifier that was fitted once; what a test does with its copy, no other test sees."""
    return deepcopy(learned(*how, **others))


@pytest.mark.parametrize("how", HOW, ids=str)
def test_probabilities_sum_to_one_and_rows_are_as_probable_as_under_naive_bayes(how):
    X, y = table()
    clf, naive = fitted(how), fitted(None)
    assert_allclose(clf.predict_proba(X).sum(1), 1.0)
    rows, naively = (logsumexp(c.predict_joint_log_proba(X), axis=1) for c in (clf, naive))
    assert_allclose(rows, naively, rtol=1e-12)
    assert clf.score(X, y) > 0.6
    assert np.abs(clf.predict_proba(X) - naive.predict_proba(X)).max() > 0.01


def test_the_table_of_exponents_has_a_row_for_each_term():
    found = fitted("pairwise").exponents_
    assert list(found.columns) == ["mean", "sd", "lower", "upper", "log_bayes_factor"]
    assert list(found.index[:5]) == ["size", "copy", "colour", "calls", "member"]
    assert {"shape of size", "size × copy", "joint"} <= set(found.index)
    assert found.attrs == {"rows": 90.0, "older": False, "offsets": "cell"}
    assert ((found["lower"] < found["mean"]) & (found["mean"] < found["upper"])).all()


def test_a_column_that_stands_in_the_table_twice_counts_half_each_time():
    rng = default_rng(0)
    y = rng.integers(2, size=2000)
    x = rng.normal(1.0 * y)
    once, twice = pd.DataFrame({"x": x}), pd.DataFrame({"x": x, "copy": x})
    p, q = (BayesianNB(dependence="weighted").fit(X, y).predict_proba(X) for X in (once, twice))
    assert np.abs(p - q).max() < 0.04
    assert np.abs(p - BayesianNB().fit(twice, y).predict_proba(twice)).max() > 0.1


# What is refused, with the cure

REFUSED = {
    "rows without a label": (
        lambda X, y: BayesianNB(FEATURES, dependence="weighted").fit(X, y.astype(object).where(y.index > 5, None)),
        "fit the labelled rows alone, or use dependence=None",
    ),
    "a sampled feature": (
        lambda X, y: BayesianNB({"x": StudentT()}, dependence="weighted").fit({"x": [0.0, 1.0, 2.0]}, [0, 1, 0]),
        r"feature 'x': StudentT.*use dependence=None",
    ),
    "maximum likelihood": (
        lambda X, y: fitted("weighted", estimate="mle"), 'use estimate="map" or dependence=None'
    ),
    "maximum likelihood afterwards": (
        lambda X, y: fitted("weighted").classifier_.with_estimate("mle"), 'use estimate="map" or dependence=None'
    ),
    "leave-one-out by another word": (lambda X, y: fitted("weighted", 40).loo(X, y, by="column"), "got 'column'"),
    "leave-one-out of a plug-in": (
        lambda X, y: fitted("weighted", 40, estimate="mean").loo(X, y), r'with_estimate\("predictive"\)'
    ),
    "log-odds of exponents by class": (
        lambda X, y: nb.odds.log_odds(fitted(Exponents(by="class")), X), "predict_interval or sample_proba"
    ),
    "an average of linear forms": (
        lambda X, y: nb.odds.linear_form(fitted("tempered")), 'use estimate="mean" or estimate="map"'
    ),
    "a linear form of shapes": (
        lambda X, y: nb.odds.linear_form(fitted("weighted", estimate="mean")),
        r"Exponents\(shapes=False, offsets=.class.\)",
    ),
    "a second stage of naive Bayes": (
        lambda X, y: fitted(None, 40).to_pymc(X, y, stage="exponents"), 'fit with dependence="weighted"'
    ),
    "a second stage without its rows": (
        lambda X, y: fitted("weighted", 40).to_pymc(stage="exponents"),
        "pass those that the exponents were learned from",
    ),
    "a verdict without its rows": (
        lambda X, y: fitted("weighted", 40).verify(stage="exponents"),
        "pass those that the exponents were learned from",
    ),
    "a second stage of other rows": (
        lambda X, y: fitted("weighted", 40).to_pymc(X[:9], y[:9], stage="exponents"), "pass exactly those rows"
    ),
    "another stage": (lambda X, y: fitted("weighted", 40).to_pymc(stage="second"), "got 'second'"),
    "a verdict by exact draws": (
        lambda X, y: fitted("weighted", 40).verify(stage="exponents", learned=(X, y), sampler="exact"),
        'sampler="nuts"',
    ),
    "a second stage after further rows": (
        lambda X, y: fitted("weighted", 40).partial_fit(X, y).to_pymc(X, y, stage="exponents"),
        r"learn_exponents\(X, y\) first",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_exponents_do_not_allow_is_refused_with_the_cure(what):
    ask, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        ask(*table(40))


@pytest.mark.parametrize("how", HOW, ids=str)
def test_one_class_leaves_the_exponents_as_their_prior_has_them(how):
    X, _ = table(20)
    clf = BayesianNB(FEATURES, dependence=how).fit(X, ["a"] * 20)
    assert_allclose(clf.predict_proba(X), 1.0)
    assert_allclose(clf.exponents_["log_bayes_factor"], 0.0, atol=1e-9)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_constant_columns_and_a_class_of_one_row_end_well(how):
    X = pd.DataFrame({"x": np.ones(12), "level": ["a"] * 12, "z": np.arange(12.0)})
    clf = BayesianNB(dependence=how).fit(X, [0] * 11 + [1])
    assert np.isfinite(clf.predict_log_proba(X)).all()


def test_no_rows_and_unknown_words_are_refused_and_nothing_is_learned():
    X, y = table()
    for how, rows, message in (
        ("weighted", slice(0), "minimum of 1 is required"),
        ("strong", slice(None), r"'pairwise'.*got 'strong'"),
        (3, slice(None), r"'pairwise'.*got 3"),
        (Exponents(pairs=(("size", "weight"),)), slice(None), "'weight'"),
    ):
        clf = BayesianNB(FEATURES, dependence=how)
        with pytest.raises(ValueError, match=message):
            clf.fit(X[rows], y[rows])
        assert not hasattr(clf, "classes_")


# Rows that come and go


def counts(clf: BayesianNB) -> list[np.ndarray]:
    return [value for part in clf.classifier_.dependence.statistics.parts() for value in part.arrays().values()]


def assert_same_counts(a: BayesianNB, b: BayesianNB) -> None:
    for mine, theirs in zip(counts(a), counts(b), strict=True):
        assert_allclose(mine, theirs, atol=1e-9)


@pytest.mark.parametrize("dependence", ["pairwise", "auto"])
def test_names_of_classes_change_nothing_beside_a_column_that_holds_one_value(dependence):
    """Its Bayes factor with any other column is 1 up to rounding, which depends on the order of the classes."""
    rng = default_rng(5076)
    y = rng.integers(4, size=30)
    X = pd.DataFrame({"b": rng.integers(2, size=30), "k": -1.7, "c": rng.choice(list("abc"), 30), "x": rng.normal(y)})
    found = []
    for names in ("pqrs", "sqpr"):
        clf = BayesianNB(dependence=dependence).fit(X, np.array(list(names))[y])
        found.append(pd.DataFrame(clf.predict_proba(X), columns=clf.classes_)[list(names)].to_numpy())
        assert not [term for term in map(str, clf.exponents_.index) if "k ×" in term or "× k" in term]
    assert_allclose(found[1], found[0], rtol=1e-7)


def test_names_of_classes_choose_no_scale_where_the_evidence_of_two_is_equal():
    """A column that holds one value has the same evidence under every scale of its exponent, up to rounding."""
    rng = default_rng(121)
    y = rng.permutation(np.arange(24) % 4)
    X = pd.DataFrame({"a": rng.choice(list("abcde"), 24), "b": rng.choice(list("abc"), 24), "k": rng.poisson(2, 24)})
    X = X.assign(k=X["k"] + 2, one=rng.normal())
    X.loc[rng.random(24) < 0.3, "b"] = None
    found = []
    for names in ("pqrs", "sqpr"):
        clf = BayesianNB(dependence="auto").fit(X, np.array(list(names))[y])
        found.append(pd.DataFrame(clf.predict_proba(X), columns=clf.classes_)[list(names)].to_numpy())
    assert_allclose(found[1], found[0], rtol=1e-6)


def test_weights_that_leave_no_digits_are_refused_with_the_cure():
    X, y = datasets.play_tennis()
    for how in ("tempered", "weighted", "pairwise", "auto"):
        with pytest.raises(NoExponentsError, match=r"weigh 1\.4e\+13 together.*rescale the weights of the rows"):
            BayesianNB(dependence=how).fit(X, y, np.full(14, 1e12))
    clf = BayesianNB(dependence="tempered").fit(X, y, np.full(14, 1e10))
    assert_allclose(clf.predict_proba(X).sum(1), 1.0)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("dependence", ["tempered", "weighted", "pairwise", "auto"])
def test_no_exponent_is_learned_if_the_class_names_the_rows_however_copies_are_given(dependence):
    X, y = default_rng(0).normal(size=(6, 2)), np.arange(6).astype(str)
    few, clf = np.where(np.arange(6) < 2, "0", y), BayesianNB(dependence=dependence)
    with pytest.raises(NoExponentsError, match=r"6 of 6 rows are the only row of their class"):
        clf.fit(X, y)
    with pytest.raises(NoExponentsError, match=r"4 of 6 rows are the only row of their class"):
        clf.fit(X, few)
    twice, at = BayesianNB(dependence=dependence).fit(X, y, sample_weight=np.full(6, 2.0)), np.repeat(np.arange(6), 2)
    copies = BayesianNB(dependence=dependence).fit(X[at], y[at])
    assert_allclose(twice.predict_proba(X), copies.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_rows_that_are_learned_and_forgotten_leave_the_probabilities_as_they_were(how):
    X, _ = table()
    more, kinds = table(40, seed=1)
    clf, before = fitted(how), fitted(how)
    clf.partial_fit(more, [*kinds[:-3], "new", "new", "new"])
    assert clf.exponents_.attrs == {"rows": 90.0, "older": True, "offsets": before.exponents_.attrs["offsets"]}
    assert_allclose(clf.predict_proba(X).sum(1), 1.0)
    assert clf.predict_proba(X).shape == (90, 4)
    clf.forget(more, [*kinds[:-3], "new", "new", "new"])
    assert_same_counts(clf, before)
    assert_allclose(clf.predict_proba(X), before.predict_proba(X), atol=1e-8)


def test_models_that_count_on_the_same_cells_merge_and_others_are_refused_with_the_cure():
    more, kinds = table(40, seed=1)
    clf, other, whole = fitted("pairwise"), fitted("pairwise"), fitted("pairwise")
    other.discount(0.0).partial_fit(more, kinds)
    assert_same_counts(clf.merge(other), whole.partial_fit(more, kinds))
    with pytest.raises(ValueError, match=r"discount\(0\)\.partial_fit"):
        clf.merge(BayesianNB(FEATURES, dependence="pairwise").fit(more, kinds))
    with pytest.raises(ValueError, match="learn_exponents"):
        clf.merge(BayesianNB(FEATURES).fit(more, kinds))
    tempered = fitted("tempered").merge(BayesianNB(FEATURES).fit(more, kinds))
    assert_array_equal(tempered.class_count_, whole.class_count_)


def test_levels_count_by_their_name_wherever_they_stand():
    X, y = table(40)
    more = X[::-1].assign(colour=X["colour"][::-1].replace("c", "amber").to_numpy())
    clf = fitted("pairwise").partial_fit(more, y[::-1])
    assert "amber" in clf.classifier_.schema.features["colour"].levels[0]
    assert_same_counts(clf.forget(more, y[::-1]), fitted("pairwise"))


def test_discounted_rows_count_less_and_the_exponents_are_held():
    clf = fitted("pairwise")
    before, exponents = counts(clf), clf.exponents_
    clf.discount(0.5)
    assert_allclose(clf.classifier_.dependence.statistics.pairs.counts, 0.5 * before[1])
    pd.testing.assert_frame_equal(clf.exponents_, exponents)


def test_exponents_are_learned_again_from_all_rows_or_a_sample():
    X, y = table()
    clf = fitted("weighted").discount(0.0).partial_fit(X, y)
    assert clf.exponents_.attrs["older"]
    clf.learn_exponents(X, y)
    assert_allclose(clf.exponents_, fitted("weighted").exponents_, atol=1e-6)
    some = clf.learn_exponents(X[:60], y[:60]).exponents_
    assert some.attrs == {"rows": 60.0, "older": False, "offsets": "cell"}
    strangers, kinds = table(400, seed=3)
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match="some of these were not"):
        clf.learn_exponents(strangers, kinds)
    assert_array_equal(clf.predict_proba(X), before)


def test_naive_bayes_gets_exponents_from_a_sample_of_its_rows():
    X, y = table()
    clf = fitted(None)
    with pytest.raises(ValueError, match=r'set_params\(dependence="weighted"\)'):
        clf.learn_exponents(X, y)
    clf.set_params(dependence="pairwise").learn_exponents(X[:70], y[:70])
    assert clf.classifier_.dependence.statistics.pairs.counts.sum() > 0
    assert_allclose(clf.predict_proba(X).sum(1), 1.0)
    naive = clf.set_params(dependence=None).partial_fit(X[:1], y[:1])
    assert naive.classifier_.dependence is None


def parts_of(X: pd.DataFrame, y: pd.Series, *cuts: int):
    whole = X.assign(kind=y.to_numpy())
    return (whole[a:b] for a, b in pairwise([0, *cuts, len(whole)]))


def test_the_rows_that_are_drawn_do_not_depend_on_how_the_table_is_cut(tmp_path):
    X, y = table()
    spec = Exponents(rows=40)
    one, many = (BayesianNB(FEATURES, dependence=spec).fit(parts_of(X, y, *cuts), "kind") for cuts in ((), (7, 60)))
    assert one.exponents_.attrs["rows"] == 40.0
    assert_allclose(one.predict_proba(X), many.predict_proba(X), atol=1e-8)
    X.assign(kind=y).to_parquet(tmp_path / "rows.parquet")
    read = BayesianNB(FEATURES, dependence=spec).fit(tmp_path / "rows.parquet", "kind")
    assert_allclose(read.predict_proba(X), one.predict_proba(X), atol=1e-8)
    order = np.random.default_rng(0).permutation(len(X))
    other = BayesianNB(FEATURES, dependence=spec).fit(parts_of(X.iloc[order, ::-1], y.iloc[order], 30), "kind")
    assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_further_parts_are_learned_and_forgotten_as_the_same_rows_in_memory(how, tmp_path):
    X, y = table()
    whole, file = fitted(how).partial_fit(X, y), tmp_path / "rows.parquet"
    X.assign(kind=y).to_parquet(file)
    for parts in (parts_of(X, y, 20, 50), file):
        clf = fitted(how).partial_fit(parts, "kind")
        assert_array_equal(clf.class_count_, 2 * fitted(None).class_count_)
        assert_allclose(clf.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    clf.forget(parts_of(X, y, 20, 50), "kind")
    assert_allclose(clf.predict_proba(X), fitted(how).predict_proba(X), atol=1e-9)


def test_where_a_later_part_holds_rows_that_were_never_learned_nothing_is_forgotten():
    X, y = table()
    clf = fitted("weighted")
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match="never"):
        clf.forget(iter([X[:50].assign(kind=y[:50])] * 2), "kind")
    assert_array_equal(clf.predict_proba(X), before)


def test_frames_of_another_process_are_refused_with_a_cure_that_works():
    X, y = table()
    dask = pytest.importorskip("dask.dataframe")
    clf = BayesianNB(FEATURES, dependence="weighted")
    with pytest.raises(ValueError, match=r"Dask DataFrame.*learn_exponents\(X, y\) from a sample"):
        clf.fit(dask.from_pandas(X.assign(kind=y), npartitions=2), "kind")
    with pytest.raises(ValueError, match=r"Dask DataFrame.*an iterator of its parts"):
        fitted("weighted").partial_fit(dask.from_pandas(X.assign(kind=y), npartitions=2), "kind")
    clf.set_params(dependence=None).fit(parts_of(X, y, 50), "kind")
    clf.set_params(dependence="weighted").learn_exponents(X, y)
    assert_allclose(clf.predict_proba(X), fitted("weighted").predict_proba(X), atol=1e-9)


# Files and scikit-learn


@pytest.mark.parametrize("how", [None, *HOW], ids=str)
def test_a_model_is_the_same_after_a_file_and_after_pickling(how, tmp_path):
    X, y = table()
    clf = fitted(how)
    own = clf.save(tmp_path / "model.bayesnb")
    read, pickled = load(tmp_path / "model.bayesnb"), pickle.loads(pickle.dumps(clf))
    for other in (read, pickled):
        assert_array_equal(other.predict_proba(X), clf.predict_proba(X))
        other.partial_fit(X[:9], y[:9])
    assert_array_equal(read.predict_proba(X), pickled.predict_proba(X))
    assert load(tmp_path / "model.bayesnb").save(tmp_path / "again.bayesnb") == own
    if how is not None:
        pd.testing.assert_frame_equal(load(tmp_path / "model.bayesnb").exponents_, clf.exponents_)


POSTERIOR = "dependence.exponents.posterior"


def told(old: str, new: str):
    """Another text in place of one that the JSON of the dependence has."""

    def change(content, arrays):
        text = json.dumps(content["dependence"], separators=(",", ":"))
        assert old in text
        content["dependence"] = json.loads(text.replace(old, new))

    return change


LIES = {
    "negative counts": (cell("dependence.terms.statistics.pairs.counts", -1.0), "its counts is -1 somewhere"),
    "more than the rows": (cell("dependence.terms.statistics.shapes.counts", 1e6), "more values were seen than"),
    "no number": (cell(f"{POSTERIOR}.mode", np.nan), "mode is not finite"),
    "no covariance": (cell(f"{POSTERIOR}.factor", -1.0), "no covariance"),
    "an array too few": (lambda content, arrays: arrays.pop("dependence.exponents.points"), "has no array"),
    "an array too many": (lambda content, arrays: arrays.update(more=np.zeros(1)), "nothing says what its arrays"),
    "another shape": (array("dependence.terms.statistics.joint.0.total", np.zeros((3, 9))), "counts of other cells"),
    "a column of another model": (told('"size"', '"weight"'), "columns that the model does not have"),
    "more draws than there are": (told('"draws":64', '"draws":6400000'), "no array points"),
    "a pair of no column": (told('"pairs":{"tuple":[{"tuple":[0,', '"pairs":{"tuple":[{"tuple":[99,'), "pairs of"),
    "no rows": (lambda content, arrays: content["dependence"].update(weight="many"), "other numbers"),
    "another class": (told('"is":"Cells"', '"is":"Group"'), "Group has no fields"),
    "another layout": (
        lambda content, arrays: content["dependence"]["exponents"]["layout"].update(classes=2),
        "exponents of other terms",
    ),
    "no standard deviation": (told('"features",0.3]', '"features",-0.3]'), "exponents of other terms"),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> bytes:
    """A model file with pairs."""
    path = tmp_path_factory.mktemp("pairs") / "model.bayesnb"
    fitted("pairwise").save(path)
    return path.read_bytes()


@pytest.mark.parametrize("lie", LIES)
def test_a_file_with_a_dependence_that_cannot_be_is_refused(lie, stored, tmp_path):
    change, message = LIES[lie]
    path = tmp_path / "model.bayesnb"
    path.write_bytes(stored)
    with pytest.raises(ModelFileError, match=message):
        load(changed(path, change))


def test_dependence_is_a_parameter_like_any_other():
    X, y = table(60, seed=4)
    spec = Exponents(sd=0.5, pairs=[("size", "copy")])
    assert clone(BayesianNB(dependence=spec)).dependence == spec
    assert spec.pairs == (("size", "copy"),)
    search = GridSearchCV(
        BayesianNB(FEATURES), {"dependence": [None, "weighted", spec]}, scoring="neg_log_loss", cv=2
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["dependence"] is not None


# Leave-one-out


@pytest.mark.parametrize("how", HOW, ids=str)
def test_the_left_out_terms_of_a_row_add_up_to_naive_bayes(how):
    X, y = table(40)
    clf, naive = fitted(how, 40), fitted(None, 40)
    whole, _ = naive.classifier_.log_left_out(X, y)
    for model in (clf, naive):
        found = model.loo(X, y, by="feature")
        assert found.columns.names == ["class", "term"]
        columns = ["(prior)", *X.columns]
        for c, label in enumerate("abc"):
            assert_allclose(found[label][columns].sum(axis=1), whole[:, c], rtol=1e-10)
    beside = [name for name in fitted(how, 40).exponents_.index if name not in {*X.columns, "features"}]
    assert list(clf.loo(X, y, by="feature")["a"].columns) == ["(prior)", *X.columns, *beside]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_row_that_is_left_out_has_the_probability_it_has_after_forgetting(how):
    X, y = table(40)
    clf = fitted(how, 40)
    with pytest.warns(UserWarning, match="too good") if how else nullcontext():
        found = clf.loo(X, y)
    assert_allclose(found["probability"].sum(axis=1), 1.0)
    # The scales of priors, the shares of pooled cells and the strength of pairs are held, and forgetting moves them.
    gone = BayesianNB(FEATURES, dependence=how).fit(X, y).forget(X[7:8], y[7:8])
    assert_allclose(found["probability"].iloc[7], gone.predict_proba(X[7:8])[0], atol=0.06)
    naive = fitted(None, 40).loo(X, y)
    assert_allclose(
        found["log_density"] - np.log(found["probability"].to_numpy()[np.arange(40), y.map({"a": 0, "b": 1, "c": 2})]),
        naive["log_density"] - np.log(naive["probability"].to_numpy()[np.arange(40), y.map({"a": 0, "b": 1, "c": 2})]),
    )


def test_a_frame_of_rows_that_are_left_out_says_that_the_exponents_have_seen_their_labels():
    X, y = table(40)
    with pytest.warns(UserWarning, match="exponents have seen the label of each row"):
        assert "exponents have seen the label of each row" in fitted("weighted", 40).loo(X, y).attrs["note"]
    assert fitted(None, 40).loo(X, y).attrs == {}
    # Forests have no exponents, so the probabilities are those of leave-one-out.
    assert fitted("forests", 40).loo(X, y).attrs == {}


def test_the_evidence_under_a_dependence_is_that_of_naive_bayes_and_says_so():
    assert fitted("weighted", 40).log_evidence_ == fitted(None, 40).log_evidence_
    assert "the evidence of naive Bayes" in BayesianNB.log_evidence_.__doc__


# How sure, and why


def drawn_odds(clf: BayesianNB, X: pd.DataFrame, n: int = 20_000) -> np.ndarray:
    """Draws of the log-odds of the first class against the second, (draw, row)."""
    frozen = clf.classifier_
    data, rows = frozen.read(X)
    joint = frozen.believed.draw(default_rng(0), n).log_joint(data, rows)
    return joint[..., 0] - joint[..., 1]


@pytest.mark.parametrize("how", ["tempered", "pairwise"])
def test_the_moments_of_the_log_odds_are_those_of_draws_of_parameters_and_exponents(how):
    X, _ = table()
    clf = fitted(how)
    found, odds = nb.odds.log_odds(clf, X[:5])["a"]["b"], drawn_odds(clf, X[:5])
    error = odds.std(0) / np.sqrt(len(odds))
    assert (np.abs(odds.mean(0) - found["mean"]) < 5 * error).all()
    assert_allclose(found["variance"], odds.var(0), rtol=0.06)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_intervals_hold_the_uncertainty_of_parameters_and_of_exponents(how):
    X, _ = table()
    clf = fitted(how, random_state=0)
    p = nb.draws.sample_proba(clf, X[:5], draws=4000)
    assert_allclose(p.sum(-1), 1.0)
    low, high = np.quantile(p, [0.055, 0.945], axis=0)
    found = clf.predict_interval(X[:5])
    assert_allclose(found.xs("lower", axis=1, level=1), low, atol=0.04)
    assert_allclose(found.xs("upper", axis=1, level=1), high, atol=0.04)
    top = clf.predict_proba(X[:5]).argmax(1)
    assert_allclose(clf.uncertainty(X[:5])["top"], (p.argmax(-1) == top).mean(0), atol=0.03)
    with pytest.raises(ValueError, match='use method="draws"'):
        BayesianNB(FEATURES, dependence=how).fit(X[:20], [0, 1] * 10).predict_interval(X[:1], method="saddlepoint")


def test_novelty_is_that_of_naive_bayes():
    X, y = table()
    asked = [c.uncertainty(X[:9], learned=(X, y), draws=50) for c in (fitted("pairwise"), fitted(None))]
    for column in ("novelty", "novelty_rank"):
        assert_allclose(asked[0][column], asked[1][column])


@pytest.mark.parametrize("estimate", ["predictive", "mean"])
@pytest.mark.parametrize("how", HOW, ids=str)
def test_contributions_sum_to_the_log_odds_that_are_predicted(how, estimate):
    X, _ = table()
    clf = fitted(how, estimate=estimate, random_state=0)
    found = clf.explain(X[:6], label="a", against="b")
    log_p = clf.predict_log_proba(X[:6])
    total = found.xs("(total)", level="entry")["log_odds"]
    assert_allclose(total, log_p[:, 0] - log_p[:, 1], atol=1e-9)
    assert_allclose(found.drop(index="(total)", level="entry").groupby("row")["log_odds"].sum(), total, atol=1e-9)
    assert ("(averaging)" in found.loc[0].index) == (estimate == "predictive")
    ranges = found.drop(index="(averaging)", level="entry", errors="ignore")
    assert (ranges["lower"] <= ranges["upper"]).all()


def test_a_column_contributes_what_it_does_in_naive_bayes_times_its_exponent():
    X, _ = table()
    clf, naive = fitted(Exponents(offsets="class")), fitted(None)
    both = [c.explain(X[:6], label="a", against="b")["log_odds"].unstack() for c in (clf, naive)]
    for column in X.columns:
        assert_allclose(both[0][column], clf.exponents_["mean"][column] * both[1][column], atol=1e-9)
    assert {"(offset)", "shape of copy"} <= set(both[0].columns)


def test_exponents_multiply_the_weights_of_the_linear_form():
    X, y = table()
    X = X[["colour", "calls", "member"]]
    for how in ("tempered", Exponents(shapes=False, offsets="class")):
        clf = BayesianNB(FEATURES, dependence=how, estimate="mean").fit(X, y)
        weights, intercept = nb.odds.linear_form(clf)
        hot = pd.get_dummies(X["colour"])[weights.loc["colour"].index].to_numpy(float)
        member = np.stack([~X["member"], X["member"]], axis=1)[:, -len(weights.loc["member"]) :].astype(float)
        scores = hot @ weights.loc["colour"] + X[["calls"]].to_numpy(float) @ weights.loc["calls"]
        scores = (scores + member @ weights.loc["member"].to_numpy()).to_numpy() + intercept.to_numpy()
        assert_allclose(scores - logsumexp(scores, axis=1, keepdims=True), clf.predict_log_proba(X), atol=1e-9)


def test_the_tables_of_a_model_hold_its_exponents():
    clf = fitted("weighted")
    pd.testing.assert_frame_equal(clf.tables()["(exponents)"], clf.exponents_)
    assert len(clf.describe()) == 5


# Another class prior


@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_another_class_prior_adds_the_change_of_its_logarithm(estimate):
    X, _ = table()
    clf = fitted("pairwise", estimate=estimate)
    new = {"a": 0.7, "b": 0.2, "c": 0.1}
    shifted = nb.deploy.with_class_prior(clf, new)
    point = clf.classifier_.with_estimate("mean").predict_log_proba(X)
    expected = point + np.log([*new.values()]) - np.log(clf.posterior_.label.mean())
    expected -= logsumexp(expected, axis=1, keepdims=True)
    assert_allclose(shifted.with_estimate("mean").predict_log_proba(X), expected, atol=1e-9)
    each = np.tile([*new.values()], (len(X), 1))
    assert_allclose(nb.deploy.with_class_prior(clf, each).predict_proba(X), shifted.predict_proba(X), atol=1e-9)


KNOWN = {"a": 0.05, "b": 0.05, "c": 0.9}


@pytest.mark.parametrize("how", [*HOW, pytest.param("auto", marks=pytest.mark.slow), "forests"], ids=str)
def test_a_known_class_prior_of_a_fit_is_that_of_its_predictions(how):
    X, y = table()
    X = X.drop(columns="calls")
    nothing = X.head(1).reindex([-1])
    clf = BayesianNB(dependence=how, class_prior=KNOWN).fit(X, y)
    later = nb.deploy.with_class_prior(BayesianNB(dependence=how).fit(X, y), KNOWN)
    assert_allclose(clf.predict_proba(X), later.predict_proba(X), atol=1e-12)
    assert_allclose(clf.predict_proba(nothing)[0], [*KNOWN.values()], atol=0.06)
    assert clf.predict_interval(nothing, draws=200)["c"]["upper"].iloc[0] > 0.8
    firm = nb.Dirichlet({label: 1e6 * p for label, p in KNOWN.items()})
    strong = BayesianNB(dependence=how, class_prior=firm).fit(X, y)
    assert_allclose(strong.predict_proba(X), clf.predict_proba(X), atol=1e-3)


def test_scores_of_learned_rows_use_the_known_class_prior():
    X, y = table()
    late = nb.deploy.with_class_prior(fitted("weighted"), KNOWN)
    known = BayesianNB(FEATURES, dependence="weighted", class_prior=KNOWN).fit(X, y).classifier_
    rows = TrainingRows.of(X, y)
    assert left_out_scores(known, rows) == pytest.approx(left_out_scores(late, rows))


def test_exponents_are_learned_with_a_class_of_one_row_and_its_frequency_as_prior():
    X, y = table()
    clf = BayesianNB(FEATURES, dependence="weighted", class_prior="frequencies").fit(X, ["z", *y[1:]])
    assert_allclose(clf.predict_proba(X).sum(1), 1.0)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_class_that_is_ruled_out_has_the_probability_0_in_every_answer(how):
    X, _ = table()
    clf = nb.deploy.with_class_prior(fitted(how, random_state=0), {"a": 0.0, "b": 0.5, "c": 0.5})
    assert_array_equal(clf.predict_proba(X[:3])[:, 0], 0.0)
    assert_array_equal(clf.predict_interval(X[:3])["a"], 0.0)
    explained = clf.explain(X[:3])[["lower", "upper"]].drop(index="(averaging)", level="entry", errors="ignore")
    assert np.isfinite(explained).all(axis=None)
    if how != HOW[-1]:
        assert np.isneginf(nb.odds.log_odds(clf, X[:3])["a"]["b"]["mean"]).all()


def test_an_impossible_row_is_reported_and_one_class_ruled_out_is_not():
    T = pd.DataFrame({"a": list("xxyy") * 5, "b": list("uuvv") * 5})
    clf = BayesianNB(dependence="weighted", estimate="map").fit(T, [0, 0, 1, 1] * 5)
    assert_array_equal(clf.predict_proba(T[:1]), [[1.0, 0.0]])
    with pytest.raises(ImpossibleRowError, match="row 0"):
        clf.predict(pd.DataFrame({"a": ["x"], "b": ["v"]}))


def test_class_frequencies_of_new_rows_are_estimated_with_the_exponents():
    X, y = table(600)
    clf = BayesianNB(FEATURES, dependence="weighted").fit(X, y)
    new, kinds = table(2000, seed=4)
    keep = (kinds != "c").to_numpy() | (np.arange(2000) % 5 == 0)
    found = nb.deploy.estimate_class_prior(clf, new[keep])
    assert_allclose(found, kinds[keep].value_counts(normalize=True).sort_index(), atol=0.05)


# The sampler's road


@cache
def without_dependence() -> tuple:
    """Naive Bayes of 40 rows, draws of it, and what ``verify`` finds."""
    X, y = table(40)
    X = X[["size", "copy", "calls"]]
    naive = BayesianNB(FEATURES, random_state=0).fit(X, y)
    return naive, naive.sample_posterior(5, 2, X=X, y=y), naive.verify(X[:2], sampler="exact", learned=(X, y))


# An average, exponents as the most general of them, and forests.
@pytest.mark.parametrize("how", ["auto", HOW[-1], pytest.param("forests", marks=pytest.mark.slow)], ids=str)
def test_a_tree_of_draws_and_a_pymc_model_say_that_they_leave_the_dependence_out(how):
    X, y = table(40)
    X = X[["size", "copy", "calls"]]
    clf = BayesianNB(FEATURES, dependence=how, random_state=0).fit(X, y)
    naive, without, of_naive = without_dependence()
    asked = (
        lambda: clf.sample_posterior(5, 2, X=X, y=y),
        lambda: clf.sample_posterior(5, 2, X=X),
        lambda: clf.to_pymc(X, y),
        lambda: clf.to_pymc(X, y, likelihood="rows"),
    )
    for ask in asked:
        with pytest.warns(UserWarning, match="are those of naive Bayes, without the dependence of this model"):
            found = ask()
        if isinstance(found, DataTree):
            assert found.attrs["note"].startswith("draws and log likelihoods of the class are those of naive Bayes")
        if "log_likelihood" in getattr(found, "children", ()):
            assert found["log_likelihood"].dataset.equals(without["log_likelihood"].dataset)
            assert found["joint"].attrs["note"] == found.attrs["note"]
    # What does not speak of rows is the posterior of the parameters, and has no warning.
    assert clf.sample_posterior(5, 2).attrs["note"] == NAIVE
    assert [v.name for v in clf.to_pymc().free_RVs] == [v.name for v in clf.to_pymc(X, y, "sufficient").free_RVs]
    assert "note" not in without.attrs
    assert naive.to_pymc(X, y).observed_RVs
    found = clf.verify(X[:2], sampler="exact", learned=(X, y))
    assert found.agrees
    for said in (found.sentence, str(found)):
        assert "Only the naive Bayes part of the model was checked" in said
    assert "naive Bayes part" not in f"{of_naive.sentence}{of_naive}"


def test_the_exponents_of_an_average_are_those_that_the_sampler_draws_and_verifies() -> None:
    X, y = table(120)
    clf = fitted("auto", 120)
    drawn = clf.sample_posterior(400, 2, random_seed=0, X=X, y=y, stage="exponents")["posterior"]["w"]
    found = clf.exponents_
    assert_allclose(found["mean"], drawn.mean(("chain", "draw")), atol=0.25 * found["sd"].max())
    assert_allclose(found["sd"], drawn.std(("chain", "draw")), rtol=0.3)


def test_the_second_stage_in_pymc_is_the_density_that_the_exponents_were_learned_from():
    X, y = table(120)
    clf = fitted("weighted", 120)
    model, dependence = clf.to_pymc(X, y, stage="exponents"), clf.classifier_.dependence
    assert shown(model)
    rows = dependence.rows(clf.posterior_, *clf.classifier_.encoded(TrainingRows.of(X, y)))
    layout = dependence.exponents.layout
    point = np.linspace(-1, 1, layout.size)
    n, own = layout.terms, point[layout.terms :].reshape(3, -1)
    ours = log_likelihood(lambda: [rows], layout, point[None])[0]
    ours += norm.logpdf(point, *dependence.exponents.prior).sum()
    theirs = model.compile_logp(mode=IN_PYTHON)({"w": point[:n], "b": own[:, -1], "b_cell": own[:, :-1]})
    assert_allclose(theirs, ours)


def test_the_tree_of_the_exponents_has_the_density_of_the_second_stage_in_pymc():
    X, y = table(120)
    clf = fitted("weighted", 120)
    tree = clf.sample_posterior(6, 2, random_seed=1, X=X, y=y, stage="exponents")
    density = clf.to_pymc(X, y, stage="exponents").compile_logp(mode=IN_PYTHON)
    drawn = tree["posterior"].dataset
    theirs = [
        density({name: drawn[name][chain, draw].to_numpy() for name in drawn}) for chain in (0, 1) for draw in range(6)
    ]
    ours = tree["log_likelihood"]["y"].sum("row")
    ours = ours + sum(v.sum([d for d in v.dims if d not in ("chain", "draw")]) for v in tree["log_prior"].values())
    assert_allclose(ours.to_numpy().ravel(), theirs)
    assert tree.attrs["sampler"] == "laplace"
    assert drawn["w"].dims == ("chain", "draw", "term")
    assert [str(name) for name in drawn["term"].to_numpy()] == list(map(str, clf.exponents_.index))
    assert drawn["b_cell"].dims == ("chain", "draw", "class_label", "cell")


def test_the_tree_of_the_exponents_refuses_what_it_has_not():
    X, y = table(40)
    clf = fitted("weighted", 40)
    for arguments, error, message in (
        ({"sampler": "gibbs"}, ValueError, "Expected sampler to be 'exact' or 'nuts' for the exponents; got 'gibbs'"),
        ({"tune": 3}, TypeError, "exact draws take no arguments"),
        ({"include": "columns"}, ValueError, "its tree has no columns"),
        ({"stage": "second"}, ValueError, "got 'second'"),
        ({"stage": "parameters", "sample_weight": np.ones(40)}, TypeError, 'sample_weight is for stage="exponents"'),
    ):
        with pytest.raises(error, match=message):
            clf.sample_posterior(5, 2, **{"X": X, "y": y, "stage": "exponents"} | arguments)
    with pytest.raises(ValueError, match="pass those that the exponents were learned from"):
        clf.sample_posterior(5, 2, stage="exponents")


@pytest.mark.nuts
def test_nuts_judges_the_posterior_of_the_exponents():
    X, y = table()
    verdict = fitted("weighted", random_state=0).verify(stage="exponents", learned=(X, y), draws=1500, chains=4)
    assert verdict.agrees
    assert verdict.parameters["off"].abs().max() < 0.4
    assert "agree" in str(verdict)


@pytest.mark.parametrize(("shift", "agrees"), [(0.0, True), (0.3, False), (-0.6, False)])
def test_an_exponent_that_is_off_by_a_part_of_its_standard_deviation_is_not_said_to_agree(monkeypatch, shift, agrees):
    X, y = table()
    frozen = fitted(Exponents(draws=2000)).classifier_
    rows, learned = (
        frozen.dependence.rows(frozen.posterior, *frozen.encoded(TrainingRows.of(X, y))),
        frozen.dependence.exponents,
    )
    mean, covariance = learned.moments()
    sd = np.sqrt(np.diag(covariance))
    points = mean + sd * np.random.default_rng(0).normal(size=(4000, len(mean)))
    points[:, 1] += shift * sd[1]
    # What NUTS would draw: independent draws of the same Normal, one of its means moved.
    monkeypatch.setattr(program, "pymc_model", lambda rows, learned: SimpleNamespace(free_RVs=[]))
    monkeypatch.setattr(program, "parameters_of", lambda drawn: points)
    monkeypatch.setattr(program.Sampler, "run", lambda *_: ({}, Convergence(1.001, 1.0, 4000.0, 0, "w")))
    names = "abc", frozen.dependence.offset_names(frozen.posterior)
    found = program.verify(rows, learned, *names, chains=4)
    assert found.agrees is agrees
    assert ("do not agree" in str(found)) is not agrees
    moved = found.parameters.iloc[1]
    # Four thousand draws leave an error of 1 / 63 of a standard deviation, and two thousand of ours one of 1 / 45.
    assert moved["off"] == pytest.approx(-shift, abs=0.08)


def test_the_parameters_of_the_second_stage_are_called_by_their_cells_and_classes():
    X, y = datasets.play_tennis()
    X = pd.concat([X.assign(hours=[1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5] * 2)] * 3)
    y = pd.concat([y] * 3)
    frozen = BayesianNB(dependence=Exponents(cell_sd=0.3)).fit(X, y).classifier_
    names = frozen.dependence.offset_names(frozen.posterior)
    assert names[:3] == ["outlook = overcast", "outlook = rain", "outlook = sunny"]
    assert names[-4:] == ["hours < 2", "2 ≤ hours < 4", "4 ≤ hours < 6", "6 ≤ hours"]
    assert len(names) == frozen.dependence.exponents.layout.cells
    # Where the rows are too few for these offsets, a class has one.
    few = BayesianNB(dependence="weighted").fit(*datasets.play_tennis())
    assert few.exponents_.attrs["offsets"] == "class"


def test_words_contribute_with_the_exponent_of_their_bag():
    words = sparse.csr_array(default_rng(0).poisson(0.8, (40, 6)).astype(float))
    y = default_rng(1).integers(2, size=40)
    for how in ("tempered", "weighted", Exponents(by="class")):
        clf = BayesianNB(dependence=how, estimate="mean").fit(words, y)
        found = clf.explain(words[:5])
        sums = found.drop(index="(total)", level="entry").groupby("row")["log_odds"].sum()
        assert_allclose(sums, found.xs("(total)", level="entry")["log_odds"], atol=1e-9)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_table_in_parts_gives_the_exponents_of_the_same_table_in_memory(how):
    X, y = table()
    clf = BayesianNB(FEATURES, dependence=how).fit(parts_of(X, y, 20, 50), "kind")
    assert_allclose(clf.predict_proba(X), fitted(how).predict_proba(X), atol=1e-8)
