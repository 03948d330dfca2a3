"""Levels with an order: what decides it, where it stays, and where it helps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pyarrow.dataset import dataset
from scipy.stats import binom

from bayesnb import BayesianNB, Binned, Categorical, Dirichlet, cli, from_draws, load
from bayesnb.data.readers import frame
from bayesnb.errors import ModelFileError, RefusedError
from bayesnb.families import Ordinal, PolyaTree
from tests.model_files import changed, said

SIZES = ["small", "medium", "large", "huge", "giant"]
X = pd.DataFrame({"size": ["small", "small", "medium", "huge", "large", "giant", "giant", None, "small", "large"]})
Y = np.array(["cat"] * 5 + ["dog"] * 5)


def test_the_order_is_given_or_declared_by_a_type_or_that_of_numbers():
    given = BayesianNB({"size": Ordinal(order=SIZES)}).fit(X, Y)
    ordered = X.astype(pd.CategoricalDtype(SIZES, ordered=True))
    enum = pl.DataFrame({"size": pl.Series([*X["size"].fillna("")], dtype=pl.String)})
    enum = enum.with_columns(pl.col("size").replace("", None).cast(pl.Enum(SIZES)))
    numbers = X.replace({size: k for k, size in enumerate(SIZES)}).astype(float)
    for table in (ordered, enum, numbers):
        clf = BayesianNB({"size": "ordinal"}).fit(table, Y)
        assert_allclose(clf.predict_proba(table), given.predict_proba(X), rtol=1e-12)
    assert list(given.tables()["size"]) == SIZES
    assert list(clf.tables()["size"]) == [0.0, 1.0, 2.0, 3.0, 4.0]


STORED = {
    "Parquet": lambda t, enum, path: t.to_parquet(path) or path,
    "Parquet by polars": lambda t, enum, path: enum.write_parquet(path) or path,
    "Arrow": lambda t, enum, path: t.to_feather(path := path.with_suffix(".arrow")) or path,
    "a stream": lambda t, enum, path: pa.RecordBatchReader.from_stream(pa.Table.from_pandas(t)),
    "a dataset": lambda t, enum, path: t.to_parquet(path) or dataset(path),
    "a lazy table": lambda t, enum, path: enum.lazy(),
    "parts": lambda t, enum, path: iter([enum[:4], enum[4:]]),
    "pyarrow": lambda t, enum, path: iter([pa.Table.from_pandas(t)]),
}


@pytest.mark.parametrize("stored", STORED)
def test_the_order_of_a_type_is_known_wherever_the_table_comes_from(stored, tmp_path):
    whole = X.assign(y=Y)
    whole["size"] = whole["size"].astype(pd.CategoricalDtype([*SIZES, "colossal"], ordered=True))
    enum = pl.from_pandas(whole.astype({"size": object}))
    enum = enum.with_columns(pl.col("size").cast(pl.Enum([*SIZES, "colossal"])))
    given = BayesianNB({"size": Ordinal(order=[*SIZES, "colossal"])}).fit(X, Y)
    clf = BayesianNB({"size": "ordinal"}).fit(STORED[stored](whole, enum, tmp_path / "sizes.parquet"), "y")
    assert list(clf.tables()["size"]) == [*SIZES, "colossal"]
    assert_allclose(clf.predict_proba(X), given.predict_proba(X), rtol=1e-12)


def test_the_command_line_reads_the_order_of_a_file(tmp_path):
    whole = X.assign(y=Y)
    whole["size"] = whole["size"].astype(pd.CategoricalDtype(SIZES, ordered=True))
    whole.to_parquet(table := tmp_path / "sizes.parquet")
    fit = ["fit", str(table), "--target", "y", "--feature", "size=ordinal", "--dependence", "none"]
    for options, levels in (([], SIZES), (["--na", "size=huge"], [size for size in SIZES if size != "huge"])):
        with pytest.raises(SystemExit) as ended:
            cli.main([*fit, *options, "-o", str(tmp_path / "m.bayesnb")])
        assert ended.value.code == 0
        assert list(load(tmp_path / "m.bayesnb").tables()["size"]) == levels


def test_the_files_of_a_folder_have_an_order_if_they_agree(tmp_path):
    for name, order in (("1", SIZES), ("2", SIZES[::-1])):
        X.astype(pd.CategoricalDtype(order, ordered=True)).to_parquet(tmp_path / f"{name}.parquet")
    assert frame(tmp_path)["size"].dtype == "str"
    X.astype(pd.CategoricalDtype(SIZES, ordered=True)).to_parquet(tmp_path / "2.parquet")
    assert frame(tmp_path)["size"].dtype == pd.CategoricalDtype(SIZES, ordered=True)


def test_the_order_stays_in_parts_and_in_files(tmp_path):
    family = {"size": Ordinal(order=SIZES)}
    whole = BayesianNB(family).fit(X, Y)
    parts = BayesianNB(family).fit(X[6:], Y[6:]).partial_fit(X[:6], Y[:6])
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    merged = BayesianNB(family).fit(X[:6], Y[:6]).merge(BayesianNB(family).fit(X[6:], Y[6:]))
    assert_allclose(merged.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    ordered = X.astype(pd.CategoricalDtype(SIZES, ordered=True)).assign(y=Y)
    stream = BayesianNB({"size": Ordinal()}).fit(iter([ordered[6:], ordered[:6]]), "y")
    assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    stream.save(tmp_path / "m.bayesnb")
    assert_allclose(load(tmp_path / "m.bayesnb").predict_proba(X), whole.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("path", "as_"),
    [(("levels",), {"tuple": [{"tuple": SIZES[::-1]}]}), (("family", "orders"), {"tuple": [{"tuple": SIZES[1:]}]})],
)
def test_a_file_whose_levels_are_not_those_of_the_family_is_refused(path, as_, tmp_path):
    BayesianNB({"size": Ordinal(order=SIZES)}).fit(X, Y).save(tmp_path / "model.bayesnb")
    lie = changed(tmp_path / "model.bayesnb", said("schema", "features", "size", *path, as_=as_))
    with pytest.raises(ModelFileError, match="feature 'size' is not one"):
        load(lie)


def test_the_command_line_takes_the_order_of_text_and_of_numbers(tmp_path):
    X.assign(y=Y, stars=[1, 2, 3, 4, 5] * 2).to_csv(tmp_path / "t.csv", index=False)
    options = ["--feature", f"size=ordinal:{','.join(SIZES)}", "--feature", "stars=ordinal:5,4,3,2,1"]
    options += ["--dependence", "none"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["fit", str(tmp_path / "t.csv"), "--target", "y", *options, "-o", str(tmp_path / "m.bayesnb")])
    assert ended.value.code == 0
    features = load(tmp_path / "m.bayesnb").classifier_.schema.features
    assert features["size"].levels == (tuple(SIZES),)
    assert features["stars"].levels == ((5, 4, 3, 2, 1),)


def test_a_later_level_is_refused_and_an_unseen_one_is_missing():
    clf = BayesianNB({"stars": Ordinal()}).fit({"stars": [1, 2, 4]}, [0, 0, 1])
    with pytest.raises(ValueError, match="column 'stars' holds 3 in row 0, which is not among its ordered levels"):
        clf.partial_fit({"stars": [3]}, [0])
    with pytest.warns(UserWarning, match="a level never seen"):
        assert_allclose(clf.predict_proba({"stars": [3]}), clf.predict_proba({"stars": [np.nan]}))


def expected_log_loss(family, shares, n):
    """The expected log loss of the class, over 20 samples of n rows of two equally frequent classes."""
    rng, levels = default_rng(0), np.arange(shares.shape[1])
    y, losses = np.arange(n) % 2, []
    for _ in range(20):
        x = np.array([rng.choice(levels, p=shares[c]) for c in y])
        clf = BayesianNB({"x": family}).fit({"x": x}, y)
        losses.append(-(0.5 * shares.T * clf.predict_log_proba({"x": levels})).sum())
    return np.mean(losses)


def test_an_order_helps_where_shares_are_smooth_and_rows_few_and_harms_where_it_means_nothing():
    levels = list(range(20))
    smooth = np.stack([0.8 * binom.pmf(levels, 19, q) + 0.01 for q in (0.35, 0.55)])
    shuffled = smooth[:, default_rng(5).permutation(20)]
    unordered, ordered = Categorical(Dirichlet(dict.fromkeys(levels, 1))), Ordinal(order=levels)
    assert expected_log_loss(ordered, smooth, 20) < expected_log_loss(unordered, smooth, 20) - 0.01
    assert expected_log_loss(ordered, shuffled, 50) > expected_log_loss(unordered, shuffled, 50) + 0.05


def test_the_draws_of_a_tree_have_nodes_which_cannot_be_selected_as_if_they_were_levels():
    X, y = {"stars": [1, 2, 3, 3], "colour": ["red", "blue", "red", "blue"]}, [0, 1, 1, 0]
    clf = BayesianNB({"stars": Ordinal(), "colour": Categorical()}, random_state=0).fit(X, y)
    tree = clf.sample_posterior(500, 4)
    share = tree["posterior"]["share_stars"]
    assert share.dims == ("chain", "draw", "class_label", "stars_node")
    with pytest.raises(KeyError, match="stars_category"):
        share.sel(stars_category="1")
    assert tree["constant_data"]["level_stars"].values[:3].tolist() == ["1", "2", "3"]
    assert_allclose(from_draws(clf, tree).predict_proba(X), clf.predict_proba(X), atol=0.3)
    assert clf.to_pymc().coords["stars_node"]


def test_models_with_different_levels_name_a_level_and_the_remedy():
    one = BayesianNB({"visits": Ordinal()}).fit({"visits": [0, 1, 2]}, [0, 0, 1])
    for levels, words in (([0, 1, 2, 9], "has 9 among its ordered levels"), ([2, 1, 0], "in different orders")):
        other = BayesianNB({"visits": Ordinal(order=levels)}).fit({"visits": [0, 1, 2]}, [0, 0, 1])
        with pytest.raises(RefusedError, match=words) as refused:
            one.merge(other)
        assert refused.value.column == "visits"
        assert str(refused.value).endswith("as features={'visits': nb.families.Ordinal(order=[LOWEST, ..., HIGHEST])}")


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        (Categorical(), Ordinal(), "one model reads it as Categorical, the other as Ordinal"),
        (
            Categorical(),
            Categorical(Dirichlet(2)),
            "differ in prior of their family, Categorical (Dirichlet(alpha=1.0) and",
        ),
        (Binned(edges=[1.0]), Binned(edges=[2.0]), "the two models differ in edges ([1.0] and [2.0])"),
        (PolyaTree(edges=[1.0]), PolyaTree(edges=[2.0]), "differ in edges of their family, PolyaTree ([1.0] and"),
    ],
)
def test_models_with_different_families_say_in_words_how_they_differ(mine, theirs, words):
    one, other = (BayesianNB({"x": family}).fit({"x": [0, 1, 2, 3]}, [0, 0, 1, 1]) for family in (mine, theirs))
    with pytest.raises(RefusedError, match="feature 'x': ") as refused:
        one.merge(other)
    assert words in str(refused.value)
    assert "BetaTree" not in str(refused.value)
