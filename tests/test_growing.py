"""Columns that join: the result is that of a fit of all rows at once, in which earlier rows lack the new columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.testing import assert_allclose

from bayesnb import BayesianNB, Binned, Gaussian, Multinomial, Poisson, cli, load
from bayesnb.families import MultivariateGaussian, Ordinal, PolyaTree

FAMILIES = {
    "visits": Poisson(),
    "flag": "bernoulli",
    "stars": Ordinal(order=["a", "b", "c"]),
    "wait": PolyaTree(edges=[0.0, 1.0]),
    "hours": Binned(edges=[1.2]),
    "text": (Multinomial(), ["cat", "dog", "emu"]),
}
KINDS = {
    "size": "real", "color": "levels", "visits": "count", "flag": "flag", "stars": "levels", "wait": "real",
    "hours": "hours", "cat": "word", "dog": "word", "emu": "count",
}  # fmt: skip
COLUMNS = (
    ("size", "color", "cat", "dog"),
    ("size", "visits", "flag", "stars", "cat", "emu"),
    ("color", "wait", "hours", "visits", "dog"),
)
"""The columns of each part."""
WORDS = ("cat", "dog", "emu")
CLASSES = (["ant", "bee"], ["bee", "cow"], ["ant", "cow"])
PARTS, LABELS = zip(
    *(
        mixed(12, classes, {name: KINDS[name] for name in names}, seed, missing=0.0)
        for seed, (names, classes) in enumerate(zip(COLUMNS, CLASSES, strict=True))
    ),
    strict=True,
)
WHOLE = pd.concat(PARTS, ignore_index=True)
WHOLE = WHOLE.assign(**{word: WHOLE[word].fillna(0.0) for word in WORDS})
Y = np.concatenate(LABELS)


@pytest.fixture(scope="module")
def whole():
    """A fit of all rows at once, with missing cells in columns that a part does not have, and 0 of its other words."""
    return BayesianNB(FAMILIES).fit(WHOLE, Y)


def growing(**settings):
    return BayesianNB(**{"features": FAMILIES, "columns": "grow"} | settings)


def first():
    """The model of the first part; a column that is specified joins when it comes."""
    own = {"text": (Multinomial(), ["cat", "dog"])}
    return growing(features=own).fit(PARTS[0], LABELS[0]).set_params(features=FAMILIES)


def assert_same(clf, whole, rtol=1e-12):
    assert set(clf.classifier_.schema.features) == set(whole.classifier_.schema.features)
    assert set(clf.feature_names_in_) == set(whole.feature_names_in_)
    order = list(whole.feature_names_in_)
    assert_allclose(clf.predict_joint_log_proba(WHOLE), whole.predict_joint_log_proba(WHOLE[order]), rtol=rtol)
    assert_allclose(clf.log_evidence_.joint, whole.log_evidence_.joint, rtol=rtol)
    assert_allclose(clf.loo(WHOLE, Y)["log_density"], whole.loo(WHOLE[order], Y)["log_density"], rtol=rtol)


def test_columns_and_words_of_later_rows_join_as_if_they_had_been_missing(whole):
    clf = first()
    for X, y in zip(PARTS[1:], LABELS[1:], strict=True):
        clf = clf.partial_fit(X, y)
    assert_same(clf, whole)


def test_columns_and_words_of_another_model_join(whole):
    parts = []
    for X, y in zip(PARTS, LABELS, strict=True):
        own = {name: spec for name, spec in FAMILIES.items() if name in X}
        own["text"] = (Multinomial(), [word for word in WORDS if word in X])
        parts.append(growing(features=own).fit(X, y))
    assert_same(parts[0].merge(parts[1]).merge(parts[2]), whole)


def test_columns_and_words_of_later_parts_of_a_table_join(whole):
    frames = [X.assign(y=y) for X, y in zip(PARTS, LABELS, strict=True)]
    assert_same(growing().fit(iter(frames), "y"), whole)
    assert_same(first().partial_fit(iter(frames[1:]), "y"), whole)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_of_one_folder_may_have_different_columns(tmp_path, suffix):
    for k, names in enumerate((["size"], ["size", "visits"], ["visits", "color"])):
        frame = WHOLE.loc[12 * k : 12 * k + 11, names].assign(y=Y[12 * k : 12 * k + 12])
        path = tmp_path / f"{k}.{suffix}"
        frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    frames = [WHOLE.loc[:11, ["size"]], WHOLE.loc[12:23, ["size", "visits"]], WHOLE.loc[24:, ["visits", "color"]]]
    one = BayesianNB({"visits": "poisson"}).fit(pd.concat(frames), Y)
    clf = growing(features={"visits": "poisson"}).fit(tmp_path, "y")
    asked = WHOLE[["size", "visits", "color"]]
    assert_allclose(clf.predict_proba(asked), one.predict_proba(asked), rtol=1e-12)


def test_a_file_keeps_that_columns_may_join(whole, tmp_path):
    first().save(tmp_path / "m.bayesnb")
    clf = load(tmp_path / "m.bayesnb")
    for X, y in zip(PARTS[1:], LABELS[1:], strict=True):
        clf = clf.partial_fit(X, y)
    clf.save(tmp_path / "m.bayesnb")
    assert_same(load(tmp_path / "m.bayesnb"), whole)


def test_rows_that_came_before_a_column_can_be_forgotten():
    clf = first()
    for X, y in zip(PARTS[1:], LABELS[1:], strict=True):
        clf = clf.partial_fit(X, y)
    rest = BayesianNB(FAMILIES).fit(WHOLE[12:], Y[12:])
    found = clf.forget(PARTS[0], LABELS[0]).predict_proba(WHOLE)
    assert_allclose(found, rest.predict_proba(WHOLE[list(rest.feature_names_in_)]), rtol=1e-9)
    with pytest.raises(ValueError, match="feature 'other' was never learned"):
        clf.forget(PARTS[1].assign(other=1.5), LABELS[1])


def test_the_command_line_lets_columns_join(tmp_path):
    named = []
    for k in range(3):
        named.append(str(tmp_path / f"{k}.csv"))
        PARTS[k].drop(columns=list(WORDS), errors="ignore").assign(y=LABELS[k]).to_csv(named[k], index=False)
    model = str(tmp_path / "m.bayesnb")
    for arguments in (
        ["fit", named[0], "--target", "y", "--columns", "grow", "--dependence", "none", "-o", model],
        ["update", model, named[1]],
        ["update", model, named[2]],
    ):
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        assert ended.value.code == 0
    assert set(load(model).classifier_.schema.features) == set(KINDS) - set(WORDS)


def test_by_default_other_columns_are_refused():
    clf = BayesianNB().fit(PARTS[0][["size", "color"]], LABELS[0])
    with pytest.raises(ValueError, match="column 'color' was fitted and is not in this table"):
        clf.partial_fit(PARTS[1][["size"]], LABELS[1])
    with pytest.warns(UserWarning, match="columns that were not fitted are ignored"):
        clf.partial_fit(PARTS[0][["size", "color", "cat"]], LABELS[0])
    with pytest.raises(ValueError, match="different features; only one has"):
        clf.merge(BayesianNB().fit(PARTS[0][["size"]], LABELS[0]))


def test_what_cannot_grow_is_refused_by_name():
    with pytest.raises(ValueError, match='columns="grow" finds columns by their names, and this table has none'):
        BayesianNB(columns="grow").fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="Expected columns to be 'fixed' or 'grow'; got 'wide'"):
        BayesianNB(columns="wide").fit(PARTS[0], LABELS[0])
    block = {"block": (MultivariateGaussian(), ["size", "cat"])}
    clf = growing(features=block).fit(PARTS[0][["size", "cat"]], LABELS[0])
    clf.set_params(features={"block": (MultivariateGaussian(), ["size", "cat", "emu"])})
    with pytest.raises(ValueError, match=r"feature 'block' has the columns \['size', 'cat'\].*none can join it"):
        clf.partial_fit(PARTS[1][["size", "cat", "emu"]], LABELS[1])
    alone = growing(features=None).fit(PARTS[1][["size"]], LABELS[1])
    with pytest.raises(ValueError, match="column 'size' is in feature 'block', and then in 'size'"):
        clf.merge(alone)
    weighted = growing(features=None, dependence="weighted").fit(PARTS[0][["size", "color"]], LABELS[0])
    with pytest.raises(ValueError, match=r"features \['visits'\] are new, and exponents belong to the features"):
        weighted.partial_fit(PARTS[1][["size", "visits"]], LABELS[1])
    with pytest.raises(ValueError, match="features names column 'vists', which no part of the table has"):
        growing(features={"vists": Gaussian()}).fit(iter([PARTS[0].assign(y=LABELS[0])]), "y")
    with pytest.raises(ValueError, match="column 'emu' is not in this table, and the columns of one feature join"):
        growing(features={"a": (Gaussian(), ["cat", "emu"])}).fit(iter([PARTS[0].assign(y=LABELS[0])]), "y")
