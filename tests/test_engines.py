"""A table gives the same statistics however it is read: whole, in parts, and by every engine."""

import gzip
from itertools import chain

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import bayesnb as nb
from bayesnb import BayesianNB, Categorical, Dirichlet, Gaussian, Missing, Multinomial, Poisson
from bayesnb.data import decoding, engines, readers
from bayesnb.families import Hurdle, NegativeBinomial, PolyaTree

N = 6000


def table():
    """A table of mean 1e6 and standard deviation 1, with gaps, late levels, weights and a class in one part only."""
    rng = np.random.default_rng(6)
    kind = rng.choice(["ash", "birch"], N).astype(object)
    kind[4500:5000] = "cedar"
    real = 1e6 + rng.normal(size=N)
    wide = rng.normal(size=N) * 10.0 ** rng.integers(-3, 4, N)
    level = rng.choice(["u", "v", "w"], N).astype(object)
    level[5900:] = "late"
    level[rng.random(N) < 0.1] = None
    code = pd.array(rng.integers(1, 5, N), "Int64")
    code[rng.random(N) < 0.1] = pd.NA
    flag = pd.array(rng.random(N) < 0.3, "boolean")
    flag[rng.random(N) < 0.1] = pd.NA
    bit = pd.array(rng.integers(0, 2, N), "Int64")
    bit[:1500] = pd.NA
    count = rng.poisson(3, N)
    real[rng.random(N) < 0.1] = np.nan
    frame = pd.DataFrame({
        "real": real, "wide": wide, "level": level, "code": code, "flag": flag, "bit": bit, "count": count,
        "weight": rng.integers(0, 4, N).astype(float) / 2, "kind": kind,
    })  # fmt: skip
    return frame.astype({"level": "str", "kind": "str"})


FRAME = table()
TOLD = {"code": Categorical(), "count": Poisson()}


def arrow():
    """The same table in Arrow; half of the missing values of a real column are null, half are NaN."""
    found = pa.Table.from_pandas(FRAME, preserve_index=False)
    real = FRAME["real"].to_numpy()
    null = np.isnan(real) & (np.arange(N) % 2 == 0)
    both = pa.Array.from_buffers(pa.float64(), N, [None, pa.py_buffer(real.tobytes())])
    both = pa.compute.if_else(pa.array(null), pa.scalar(None, pa.float64()), both)
    assert 0 < both.null_count < np.isnan(real).sum()
    return found.set_column(0, "real", both)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the table in files of every kind."""
    at = tmp_path_factory.mktemp("tables")
    whole = arrow()
    pq.write_table(whole, at / "whole.parquet", row_group_size=700)
    FRAME.to_csv(at / "whole.csv", index=False)
    with gzip.open(at / "whole.tsv.gz", "wt", encoding="utf-8", newline="") as file:
        FRAME.to_csv(file, index=False, sep="\t")
    pyarrow.feather.write_feather(whole, at / "whole.arrow", chunksize=900, compression="uncompressed")
    for k in range(4):
        (at / "parts" / f"half={k // 2}").mkdir(parents=True, exist_ok=True)
        pq.write_table(whole.slice(k * 1500, 1500), at / "parts" / f"half={k // 2}" / f"{k}.parquet")
        pq.write_table(whole.slice(k * 1500, 1500), at / f"part{k}.parquet")
    return at


def batches(size=800):
    return (FRAME.iloc[k : k + size] for k in range(0, N, size))


SOURCES = {
    "iterator of pandas": lambda at: batches(),
    "iterator of polars": lambda at: iter(pl.from_arrow(arrow()).iter_slices(700)),
    "iterator of pyarrow": lambda at: iter(arrow().to_batches(max_chunksize=650)),
    "parquet": lambda at: at / "whole.parquet",
    "csv": lambda at: str(at / "whole.csv"),
    "tsv, gzip": lambda at: at / "whole.tsv.gz",
    "arrow file": lambda at: at / "whole.arrow",
    "glob": lambda at: str(at / "part?.parquet"),
    "dataset": lambda at: pyarrow.dataset.dataset(at / "whole.parquet"),
    "reader": lambda at: arrow().to_reader(max_chunksize=500),
    "polars lazy": lambda at: pl.scan_parquet(at / "part?.parquet"),
    "duckdb": lambda at: duckdb.sql(f"select * from '{at}/whole.parquet'"),
    "dask": lambda at: dask_frame(),
}


def dask_frame():
    import dask.dataframe as dd

    return dd.from_pandas(FRAME, npartitions=5)


@pytest.fixture(scope="module")
def one_pass():
    return BayesianNB(TOLD).fit(FRAME.drop(columns=["kind", "weight"]), FRAME["kind"], FRAME["weight"])


def assert_same(found, expected, tolerance=1e-10):
    assert found.labels == expected.labels
    assert list(found.features) == list(expected.features)
    np.testing.assert_allclose(found.rows, expected.rows, rtol=tolerance)
    for name, s in expected.features.items():
        other = found.features[name]
        assert type(other) is type(s)
        assert all(getattr(other, names, None) == getattr(s, names, None) for names in ("levels", "words"))
        for what, value in s.arrays().items():
            if what != "lost" and not what.endswith("_rest"):  # These are below the digits of one float.
                np.testing.assert_allclose(other.arrays()[what], value, rtol=tolerance, err_msg=f"{name} {what}")


@pytest.mark.parametrize("source", SOURCES)
def test_every_engine_finds_the_statistics_of_one_pandas_pass(source, folder, one_pass):
    found = BayesianNB(TOLD).fit(SOURCES[source](folder), "kind", "weight")
    assert_same(found.classifier_.statistics, one_pass.classifier_.statistics)
    assert found.classes_.tolist() == one_pass.classes_.tolist()
    assert found.classes_.dtype == one_pass.classes_.dtype
    assert found.classifier_.schema.names == one_pass.classifier_.schema.names
    # The unit-information priors looked at the sums, and so are those of one pass too.
    rows = FRAME.drop(columns=["kind", "weight"]).head(50)
    np.testing.assert_allclose(found.predict_proba(rows), one_pass.predict_proba(rows), rtol=1e-9)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_finds_the_same_statistics(spark, folder, one_pass):
    source = spark.read.parquet(str(folder / "whole.parquet")).repartition(3)
    assert_same(engines.statistics(BayesianNB(TOLD), source, "kind", "weight"), one_pass.classifier_.statistics)


def test_folders_named_key_equals_value_become_columns(folder, one_pass):
    clf = BayesianNB({**TOLD, "half": Categorical()}).fit(folder / "parts", "kind", "weight")
    assert clf.tables()["half"].columns.tolist() == [0, 1]
    rest = {name: s for name, s in clf.classifier_.statistics.features.items() if name != "half"}
    assert_same(
        type(clf.classifier_.statistics)(clf.classifier_.statistics.labels, clf.classifier_.statistics.rows, rest),
        one_pass.classifier_.statistics,
    )


def fit_parts(*columns, features=None, **arguments):
    frames = [pd.DataFrame({"x": x, "y": ["a", "b", "a"][: len(x)]}) for x in columns]
    return BayesianNB(features, **arguments).fit(iter(frames), "y")


@pytest.mark.parametrize("late", [["u", "v", None], [1.5, 2.5, 3.0], [True, False, None], [0, 1, 1]])
def test_a_column_without_values_in_the_first_part_takes_its_type_from_the_others(late):
    late = pd.Series(late, dtype="boolean" if late[0] is True else None)
    clf = BayesianNB().fit(
        iter([
            pd.DataFrame({"x": pd.Series([None] * 3, dtype=object), "y": list("abc")}),
            pd.DataFrame({"x": late, "y": list("aba")}),
        ]), "y",
    )  # fmt: skip
    whole = BayesianNB().fit(pd.DataFrame({"x": late}), list("aba"))
    assert type(clf.classifier_.schema.features["x"].family) is type(whole.classifier_.schema.features["x"].family)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(
        clf.classifier_.statistics.features["x"].seen()[:2], whole.classifier_.statistics.features["x"].seen()
    )


def test_levels_have_the_order_of_one_pass_so_that_a_prior_by_position_fits():
    parts = [["w", "u", "w"], ["v", "u", "u"]]
    prior = {"x": Categorical(Dirichlet([5.0, 2.0, 1.0]))}
    whole = BayesianNB(prior).fit(pd.DataFrame({"x": list(chain(*parts))}), list("aba") * 2)
    clf = fit_parts(*parts, features=prior)
    assert clf.classifier_.schema.features["x"].levels == (("u", "v", "w"),)
    pd.testing.assert_frame_equal(clf.tables()["x"], whole.tables()["x"])


def test_declared_levels_keep_their_order_and_include_levels_without_rows():
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    parts = [pd.Series(["large", "small", "small"], dtype=sizes), pd.Series(["large"] * 3, dtype=sizes)]
    assert fit_parts(*parts).classifier_.schema.features["x"].levels == (("small", "medium", "large"),)
    lazy = pl.LazyFrame({"x": ["b", "c"], "y": ["p", "q"]}, schema_overrides={"x": pl.Enum(["c", "b", "a"])})
    assert BayesianNB().fit(lazy, "y").classifier_.schema.features["x"].levels == (("c", "b", "a"),)


def test_levels_that_a_prior_names_exist_and_unseen_is_last():
    prior = {"x": Categorical(Dirichlet({"u": 1.0, "v": 1.0, "never": 2.0}))}
    clf = fit_parts(["v", "u"], ["v", "v"], features=prior, unseen="new")
    whole = BayesianNB(prior, unseen="new").fit(pd.DataFrame({"x": ["v", "u", "v", "v"]}), list("abab"))
    assert clf.classifier_.schema.features["x"].levels == whole.classifier_.schema.features["x"].levels


TEXTS = [
    pd.DataFrame({"cat": [2, 0], "dog": [1, 3], "y": ["p", "q"]}),
    pd.DataFrame({"dog": [1, 2], "emu": [4, 0], "y": ["q", "p"]}),
]
WORDS = ["cat", "dog", "emu"]


def bag_of(*texts):
    """What is learned of texts in one pass, where each lists all words."""
    whole = pd.concat(texts).reindex(columns=[*WORDS, "y"]).fillna(0)
    return BayesianNB(Multinomial()).fit(whole[WORDS], whole["y"].to_numpy())


def words_and(text):
    return text.drop(columns="y"), text["y"]


@pytest.mark.parametrize("rows", [lambda: words_and(TEXTS[1]), lambda: (iter(TEXTS[1:]), "y")], ids=["table", "parts"])
def test_texts_that_lack_some_words_are_unlearned(rows):
    found = bag_of(*TEXTS).forget(*rows())
    assert_same(found.classifier_.statistics, bag_of(TEXTS[0]).classifier_.statistics)
    assert found.predict_proba(pd.DataFrame({"cat": [1], "dog": [1], "emu": [0]})).shape == (1, 2)


def test_a_word_without_a_column_occurs_in_no_row_where_columns_may_be_absent():
    clf = bag_of(*TEXTS).set_params(absent="missing")
    asked = pd.DataFrame({"cat": [1, np.nan], "dog": [1, np.nan]})
    expected = clf.predict_proba(asked.assign(emu=[0, np.nan]))
    np.testing.assert_allclose(clf.predict_proba(asked), expected)


def test_rows_are_unlearned_without_the_levels_that_only_their_type_declares():
    def column(levels):
        return pd.DataFrame({"a": pd.Categorical(["u", "v"], categories=levels)})

    clf = BayesianNB().fit(pd.concat([column(["u", "v"])] * 2), [0, 1, 0, 1])
    clf.forget(column(["u", "v", "w"]), [0, 1])
    assert_same(clf.classifier_.statistics, BayesianNB().fit(column(["u", "v"]), [0, 1]).classifier_.statistics)
    assert (
        clf.classifier_.statistics.features["a"].levels == clf.classifier_.schema.features["a"].levels == (("u", "v"),)
    )


def test_rows_without_a_class_are_refused_unless_they_are_to_be_left_out():
    frames = [FRAME.iloc[:100], FRAME.iloc[100:300].assign(kind=None)]
    with pytest.raises(ValueError, match=r"'kind' holds no class in row 100:.*unlabelled=nb.Unlabelled\(weight=0\)"):
        BayesianNB(TOLD).fit(iter(frames), "kind", "weight")
    clf = BayesianNB(TOLD, unlabelled=nb.Unlabelled(weight=0)).fit(iter(frames), "kind", "weight")
    assert clf.class_count_.sum() == FRAME["weight"][:100].sum()
    summary = engines.summary(BayesianNB(TOLD, unlabelled=nb.Unlabelled(weight=0)), iter(frames), "kind")
    assert (summary.rows, summary.blank) == (300, 200)
    with pytest.raises(ValueError, match="no row has a label"):
        BayesianNB(TOLD, unlabelled=nb.Unlabelled(weight=0)).fit(iter(frames[1:]), "kind")
    with pytest.raises(ValueError, match="there are no rows"):
        BayesianNB().fit(iter([]), "kind")


def test_a_bad_weight_is_named_with_its_part():
    bad = FRAME.iloc[:10].assign(weight=-1.0)
    with pytest.raises(ValueError, match=r"column 'weight' holds the weight -1 in row 800:"):
        BayesianNB(TOLD).fit(iter([FRAME.iloc[:800], bad]), "kind", "weight")
    with pytest.raises(ValueError, match="no column 'wait' to hold the weight"):
        BayesianNB(TOLD).fit(batches(), "kind", "wait")
    with pytest.raises(TypeError, match="sample_weight is the name of one of its columns"):
        BayesianNB(TOLD).fit(batches(), "kind", FRAME["weight"])


def test_a_refused_part_changes_nothing(one_pass):
    clf = BayesianNB(TOLD).fit(batches(), "kind", "weight")
    before = clf.classifier_.statistics, clf.classifier_.schema
    with pytest.raises(ValueError, match="Poisson needs a count"):
        clf.partial_fit(iter([FRAME.iloc[:10], FRAME.iloc[10:20].assign(count=-1)]), "kind", sample_weight="weight")
    assert (clf.classifier_.statistics, clf.classifier_.schema) == before


def test_partial_fit_and_forget_read_tables_in_parts(one_pass):
    clf = BayesianNB(TOLD).fit(iter([FRAME.iloc[:4000]]), "kind", "weight")
    clf.partial_fit((FRAME.iloc[k : k + 500] for k in range(4000, N, 500)), "kind", ["dove"], "weight")
    assert clf.classes_.tolist() == ["ash", "birch", "cedar", "dove"]
    levels = [clf.classifier_.schema.features["level"].levels, one_pass.classifier_.schema.features["level"].levels]
    assert set(levels[0][0]) == set(levels[1][0])  # A level that came late stands behind those known before.
    for name in ("real", "wide", "count", "bit"):
        for what, value in one_pass.classifier_.statistics.features[name].arrays().items():
            if what != "lost" and not what.endswith("_rest"):  # These are below the digits of one float.
                np.testing.assert_allclose(
                    clf.classifier_.statistics.features[name].arrays()[what][:3], value, rtol=1e-10
                )
    clf.forget(iter([FRAME.iloc[4000:5000], FRAME.iloc[5000:]]), "kind", "weight")
    start = BayesianNB(TOLD).fit(FRAME.iloc[:4000].drop(columns=["kind", "weight"]), FRAME["kind"][:4000],
                                 FRAME["weight"][:4000])  # fmt: skip
    np.testing.assert_allclose(clf.classifier_.statistics.rows[:2], start.classifier_.statistics.rows)
    np.testing.assert_allclose(
        clf.classifier_.statistics.features["real"].mean[:2],
        start.classifier_.statistics.features["real"].mean,
        rtol=1e-12,
    )


# CSV


# A cell of so many letters that a block of a file, of 8 MiB, holds few rows.
LONG = "l" * 2**18


def test_a_column_with_text_after_many_numbers_is_text_in_all_of_its_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,t,y\n" + f"1,{LONG},a\n2,v,b\n" * 40 + "late,v,a\n" * 10)
    whole = pd.read_csv(path)
    clf = BayesianNB().fit(path, "y")
    assert clf.classifier_.schema.features["x"].levels == (("1", "2", "late"),)
    assert_same(clf.classifier_.statistics, BayesianNB().fit(whole[["x", "t"]], whole["y"]).classifier_.statistics)
    assert readers.frame(path)["x"].tolist() == whole["x"].tolist()


def test_paths_that_are_not_data_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        BayesianNB().fit(tmp_path / "none.csv", "y")
    with pytest.raises(FileNotFoundError, match="empty folder"):
        BayesianNB().fit(tmp_path, "y")
    for name, said in (("a.docx", "neither CSV"), ("a.zip", "is packed: unpack it with unzip")):
        (tmp_path / name).write_bytes(b"PK")
        with pytest.raises(ValueError, match=said):
            BayesianNB().fit(tmp_path / name, "y")
    (tmp_path / "b.csv").write_text("a,y\n1,u\n", encoding="utf-8")
    (tmp_path / "c.parquet").write_bytes(b"PAR1nonsense")
    with pytest.raises(ValueError, match="files of one kind"):
        BayesianNB().fit(str(tmp_path / "[bc].*"), "y")
    with pytest.raises(ValueError, match=r"c\.parquet: cannot be read"):
        BayesianNB().fit(tmp_path / "c.parquet", "y")


def test_parquet_files_may_have_numbers_of_different_width(tmp_path):
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int32()), "y": ["a", "b"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [1.5, None], "y": ["a", "b"]}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"x": pa.nulls(2), "y": ["a", "b"]}), tmp_path / "3.parquet")
    clf = BayesianNB().fit(tmp_path, "y")
    np.testing.assert_array_equal(clf.classifier_.statistics.features["x"].n[:, 0], [2, 1])


# Predictions


@pytest.fixture(scope="module")
def expected(one_pass):
    return one_pass.predict_proba(FRAME.drop(columns=["kind", "weight"]))


ODD = {
    "another name": {"w": [1.0, 2.0], "X": [1.0, 2.0], "y": [0, 1]},
    "one fewer": {"w": [1.0, 2.0], "y": [0, 1]},
    "one more": {"w": [1.0, 2.0], "x": [1.0, 2.0], "y": [0, 1], "z": [1.0, 2.0]},
}


@pytest.mark.parametrize("cells", [["oops"] * 3, [1, "oops", 0], ["2020-01-02"] * 3, ["$3"] * 3], ids=str)
@pytest.mark.parametrize(
    "family",
    [Gaussian(), Poisson(), Missing(Gaussian()), NegativeBinomial(), Hurdle(), PolyaTree(edges=[1.0])],
    ids=str,
)
def test_text_in_one_part_of_a_column_whose_family_reads_numbers_is_refused_by_name(family, cells):
    numbers = pd.DataFrame({"x": [1.0, 0.0, 2.0], "y": list("uvu")})
    text = numbers.assign(x=cells)
    for parts in ((numbers, text), (text, numbers)):
        with pytest.raises(ValueError, match=r"'x'.*text.*features=\{'x': "):
            BayesianNB({"x": family}).fit(iter(parts), "y")


def test_a_part_without_values_in_a_column_of_strings_does_not_make_the_column_text():
    numbers = pd.DataFrame({"x": [1.0, 0.5, 2.0], "y": list("uvu")})
    gaps = numbers.assign(x=pd.Series([None] * 3, dtype="string"))
    whole = BayesianNB().fit(pd.concat([numbers, gaps.assign(x=np.nan)]), "y")
    for parts in ((numbers, gaps), (gaps, numbers)):
        found = BayesianNB().fit(iter(parts), "y")
        np.testing.assert_allclose(found.predict_proba(numbers[["x"]]), whole.predict_proba(numbers[["x"]]), rtol=1e-12)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_files_of_different_columns_are_refused_in_every_kind_of_file(kind, odd, tmp_path):
    for k, columns in enumerate([{"w": [1.0, 2.0], "x": [1.0, 2.0], "y": [0, 1]}, odd]):
        frame = pd.DataFrame(columns).set_index("w") if kind == "csv" else pd.DataFrame(columns)
        getattr(frame, f"to_{kind}")(tmp_path / f"{k}.{kind}")
    with pytest.raises(ValueError, match=r"column '.' is in one part of the table and not in another"):
        BayesianNB().fit(tmp_path, "y")


def test_a_dictionary_in_one_file_and_plain_text_in_the_next_are_one_column(tmp_path):
    text = [pa.array(["u", "v", None]), pa.array(["u", "w", "w"], pa.large_string())]
    for write, kind in ((pq.write_table, "parquet"), (pyarrow.feather.write_feather, "feather")):
        for order in (1, -1):
            at = tmp_path / f"{kind}{order}"
            at.mkdir()
            for k, cells in enumerate([text[0].dictionary_encode(), text[1]][::order]):
                write(pa.table({"x": cells, "y": [0, 1, 1]}), at / f"{k}.{kind}")
            found = BayesianNB().fit(at, "y").classifier_.statistics
            whole = pd.DataFrame({"x": ["u", "v", None, "u", "w", "w"], "y": [0, 1, 1, 0, 1, 1]})
            assert_same(found, BayesianNB().fit(whole[["x"]], whole["y"]).classifier_.statistics)


def damaged(path, x):
    """A Parquet file with checksums, of which one bit of a number is another."""
    table = pa.table({"x": x, "y": [0, 1] * (len(x) // 2)})
    pq.write_table(table, path, write_page_checksum=True, use_dictionary=False, compression="none")
    data = bytearray(path.read_bytes())
    at = data.index(np.float64(x[5]).tobytes())
    data[at + 5] ^= 1
    path.write_bytes(data)


def test_a_damaged_page_is_refused_with_its_file_where_the_file_has_checksums(tmp_path):
    x = np.random.default_rng(0).normal(size=10)
    pq.write_table(pa.table({"x": x, "y": [0, 1] * 5}), tmp_path / "1.parquet")
    damaged(tmp_path / "2.parquet", x)
    with pytest.raises(ValueError, match=r"2\.parquet: cannot be read past row 0 .*CRC"):
        BayesianNB().fit(tmp_path, "y")
    with pytest.raises(ValueError, match=r"2\.parquet.*CRC"):
        readers.frame(tmp_path / "2.parquet")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("keep", [0.5, 0.9], ids=["half", "most"])
def test_a_broken_file_among_many_is_named(kind, keep, tmp_path):
    for k in range(3):
        getattr(FRAME, f"to_{kind}")(tmp_path / f"part{k}.{kind}")
    broken = tmp_path / f"part1.{kind}"
    broken.write_bytes(broken.read_bytes()[: int(keep * broken.stat().st_size)])
    with pytest.raises(ValueError, match=rf"part1\.{kind}: cannot be read"):
        BayesianNB(TOLD).fit(tmp_path, "kind", "weight")


@pytest.mark.parametrize("read", [readers.frame, lambda path: BayesianNB().fit(path, "y")], ids=["frame", "fit"])
def test_a_line_of_a_csv_file_that_would_fill_the_memory_is_refused(read, tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "LINE", 2**16)
    path = tmp_path / "long.csv"
    path.write_text("x,y\n1,0\n" + "9" * (3 * decoding.LINE) + ",1\n")
    with pytest.raises(ValueError, match=r"long\.csv: a line is longer than 65,536 bytes"):
        read(path)


def broken_lazy():
    return pl.LazyFrame({"x": ["1", "u"], "y": [0, 1]}).with_columns(pl.col("x").cast(pl.Int64))


def broken_relation():
    return duckdb.sql("select cast(x as int) x, 1 y from (values ('1'), ('u')) t(x)")


def closed_relation():
    connection = duckdb.connect()
    relation = connection.sql("select 1 x, 2 y")
    connection.close()
    return relation


def broken_dask():
    from distributed.exceptions import WorkerStartTimeoutError

    def fail(_):
        raise WorkerStartTimeoutError(0, 1, 1)

    return dask_frame().map_partitions(fail, meta=FRAME.rename(columns={"kind": "y"}).iloc[:0])


@pytest.mark.parametrize("make", [broken_lazy, broken_relation, closed_relation, broken_dask])
def test_an_error_of_an_engine_is_a_value_error_with_its_cause(make):
    with pytest.raises(ValueError, match="cannot be read") as caught:
        BayesianNB().fit(make(), "y")
    assert type(caught.value.__cause__).__module__.partition(".")[0] in ("polars", "_duckdb", "duckdb", "distributed")


def test_predictions_have_a_row_for_each_and_a_column_for_each_class(one_pass, expected):
    found = nb.deploy.predict_table(one_pass, FRAME)
    assert found.columns.tolist() == ["prediction", "p_ash", "p_birch", "p_cedar"]
    np.testing.assert_array_equal(found[["p_ash", "p_birch", "p_cedar"]], expected)
    assert found["prediction"].tolist() == one_pass.predict(FRAME.drop(columns=["kind", "weight"])).tolist()
    with_index = FRAME.set_index(np.arange(N) + 7)
    assert nb.deploy.predict_table(one_pass, with_index.head(3)).index.tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("parquet", "out.csv"),
        ("csv", "out.parquet"),
        ("polars lazy", "out.tsv"),
        ("duckdb", "out.parquet"),
        ("iterator of pandas", "out.csv"),
    ],
)
def test_predictions_stream_from_a_table_into_a_file(source, out, folder, one_pass, expected, tmp_path):
    path = tmp_path / out
    assert nb.deploy.write_predictions(one_pass, SOURCES[source](folder), path, keep=["count"]) == N
    found = pd.read_parquet(path) if out.endswith("parquet") else pd.read_csv(path, sep="\t" if "tsv" in out else ",")
    assert found.columns.tolist() == ["count", "prediction", "p_ash", "p_birch", "p_cedar"]
    np.testing.assert_array_equal(found["count"], FRAME["count"])
    np.testing.assert_allclose(found[["p_ash", "p_birch", "p_cedar"]], expected, rtol=1e-12)
    assert [p.name for p in tmp_path.iterdir()] == [out]


def test_intervals_are_those_of_predict_interval(one_pass, folder):
    first = FRAME.head(20)
    found = next(nb.deploy.predict_table(one_pass, iter([first]), interval=True, prob=0.5))
    expected = one_pass.predict_interval(first.drop(columns=["kind", "weight"]), 0.5).to_numpy()
    assert found.columns[4:7].tolist() == ["p_ash_lower", "p_ash_median", "p_ash_upper"]
    np.testing.assert_array_equal(found.iloc[:, 4:], expected)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_predicts_lazily(spark, folder, one_pass, expected):
    found = nb.deploy.predict_table(one_pass, spark.read.parquet(str(folder / "whole.parquet")), keep=["real"])
    assert found.columns == ["real", "prediction", "p_ash", "p_birch", "p_cedar"]
    rows = pd.DataFrame(found.collect(), columns=found.columns).sort_values(["real", "p_ash"])
    order = pd.DataFrame(expected, columns=["ash", "birch", "cedar"]).assign(real=FRAME["real"])
    order = order.sort_values(["real", "ash"])
    np.testing.assert_allclose(rows[["p_ash", "p_birch", "p_cedar"]], order[["ash", "birch", "cedar"]], rtol=1e-9)


def test_a_table_to_predict_may_be_empty_in_parts(one_pass):
    parts = iter([FRAME.head(0), FRAME.head(5)])
    assert [len(part) for part in nb.deploy.predict_table(one_pass, parts)] == [0, 5]


def test_progress_is_shown_on_a_terminal_if_reading_takes_long(monkeypatch, capsys):
    from bayesnb import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    BayesianNB(TOLD).fit(batches(), "kind", "weight")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    BayesianNB(TOLD).fit(batches(), "kind", "weight")
    said = capsys.readouterr()
    assert "reading" in said.err
    assert "rows" in said.err
    assert "a second" in said.err
    assert said.out == ""
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    BayesianNB(TOLD).fit(batches(), "kind", "weight")
    assert capsys.readouterr().err == ""


def test_a_filtered_dataset_is_learned_with_its_filter(folder):
    dataset = pyarrow.dataset.dataset(folder / "whole.parquet")
    found = BayesianNB(TOLD).fit(dataset.filter(pyarrow.dataset.field("kind") == "ash"), "kind")
    assert dict(zip(found.classes_, found.class_count_, strict=True)) == {"ash": (FRAME["kind"] == "ash").sum()}


def test_zeros_and_ones_followed_by_other_numbers_are_gaussian_with_the_moments_of_all_values():
    parts = [[0, 1, 1], [1, 0, 0], [2, 7, 1]]
    clf = fit_parts(*parts)
    whole = BayesianNB().fit(pd.DataFrame({"x": list(chain(*parts))}), ["a", "b", "a"] * 3)
    assert isinstance(clf.classifier_.schema.features["x"].family, Gaussian)
    assert_same(clf.classifier_.statistics, whole.classifier_.statistics, 1e-14)


def test_integers_followed_by_real_numbers_become_real():
    clf = fit_parts([1, 0, 1], [0.5, 2.5, np.nan])
    whole = BayesianNB().fit(pd.DataFrame({"x": [1, 0, 1, 0.5, 2.5, np.nan]}), ["a", "b", "a"] * 2)
    assert_same(clf.classifier_.statistics, whole.classifier_.statistics, 1e-14)
