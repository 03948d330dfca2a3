"""The compiled loops give the results of numpy on any number of threads, and are only loaded for large tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import dedent
from threading import current_thread

import numba
import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_limits

import bayesnb as nb
from bayesnb import BayesianNB, Bernoulli, Categorical, Gaussian, Multinomial, NormalGamma, Poisson
from bayesnb.data.tables import Table
from bayesnb.data.targets import read_target
from bayesnb.families import GaussianKnownVariance, Mixture, PolyaTree
from bayesnb.kernels import blocks, densities, reading, sums, trees
from bayesnb.priors import Dirichlet
from bayesnb.statistics.statistic import Labels

N = 1000


@pytest.fixture
def compiled(monkeypatch):
    """Turn the compiled loops on, in many small blocks."""

    def turn_on():
        monkeypatch.setattr(blocks, "COMPILED_FROM", 0)
        monkeypatch.setattr(blocks, "ALONE", 0)
        monkeypatch.setattr(blocks, "CELLS", 350)

    return turn_on


def table(kind: str, classes: int = 3, n: int = N):
    """A family, its table and labels, with weights of 1 if ``classes`` is odd, and missing cells where allowed."""
    rng = default_rng(classes)
    y, weight = rng.integers(0, classes, n), None if classes % 2 else rng.choice([0.5, 1.0, 3.0], n)
    if kind == "words":
        X = sparse.random_array((n, 40), density=0.2, rng=rng, data_sampler=lambda size: rng.integers(1, 40, size))
        return Multinomial(), sparse.csr_array(X, dtype=float), y, weight
    if kind == "fractions of words":
        X = sparse.random_array((n, 40), density=0.2, rng=rng, data_sampler=lambda size: rng.integers(1, 16, size) / 4)
        return Multinomial(Dirichlet(1e-150)), sparse.csr_array(X, dtype=float), y, weight
    if kind == "levels":
        return Categorical(), rng.integers(-3, 7, (n, 6)), y, weight
    if kind.startswith("yes and no"):
        X = rng.integers(0, 2, (n, 6)).astype(float)
        X[rng.random(X.shape) < (0.3 if kind == "yes and no with holes" else 0.0)] = np.nan
        return Bernoulli(), X, y, weight
    if kind == "counts":
        return Poisson(), rng.poisson(1.0 + y[:, None], (n, 6)), y, weight
    X = 1e3 * np.arange(6) + rng.normal(size=(n, 6)) * (1 + y[:, None])
    if kind == "reals with holes":
        X[rng.random(X.shape) < 0.3] = np.nan
    families = {
        "reals of known variance": GaussianKnownVariance(variance=2.0),
        "reals of one of two families": Mixture(),
        "reals of unknown shape": PolyaTree(),
    }
    return families.get(kind, Gaussian()), X, y, weight


ROWS = {"reals of one of two families": 200}
"""The rows of the kind that takes longest: some blocks of each class."""

KINDS = [
    "words", "fractions of words", "levels", "yes and no", "reals", "reals with holes", "reals of known variance",
]  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_loops_give_the_results_of_numpy(kind, classes, compiled):
    family, X, y, weight = table(kind, classes)
    ours = BayesianNB(family).fit(X, y, weight)
    joint, left_out = ours.predict_joint_log_proba(X), ours.loo(X, y, weight)
    compiled()
    fast = BayesianNB(family).fit(X, y, weight)
    for name, value in ours.classifier_.statistics.features["x"].arrays().items():
        found = fast.classifier_.statistics.features["x"].arrays()[name]
        # What one float lacks of a number, and how much of it may be lost, depend on the order of the sums.
        assert_allclose(found, value, rtol=1e-12, atol=1e-9 if "rest" in name or name == "lost" else 0, err_msg=name)
    assert_allclose(fast.predict_joint_log_proba(X), joint, rtol=1e-11)
    assert_allclose(fast.loo(X, y, weight), left_out, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "classes"),
    [
        # With weights and without; 3 and 9 classes in turn.
        pytest.param(kind, classes, marks=() if classes in (2, (3, 9)[k % 2]) else pytest.mark.slow)
        for k, kind in enumerate([*KINDS, "counts", "reals of unknown shape", "reals of one of two families"])
        for classes in (2, 3, 9)
    ],
)
def test_a_loop_gives_the_bits_of_its_numpy_form(kind, classes, monkeypatch):
    # Some loops take four rows at a time, so the last rows of an odd number are a case of their own.
    family, X, y, weight = table(kind, classes, ROWS.get(kind, 500) - 1)
    answers = []
    for compiled in (False, True):
        monkeypatch.setattr(blocks, "worthwhile", lambda *_, compiled=compiled: compiled)
        monkeypatch.setattr(blocks, "either", lambda loop, in_numpy, _, *of, c=compiled: (loop if c else in_numpy)(*of))
        clf = BayesianNB(family, random_state=0).fit(X, y, weight)
        learned = clf.classifier_.statistics.features["x"].arrays()
        drawn = nb.draws.sample_proba(clf, X[:9], 20)
        answers.append(
            learned | {"joint": clf.predict_joint_log_proba(X), "loo": clf.loo(X, y, weight), "drawn": drawn}
        )
    for name, value in answers[0].items():
        assert_array_equal(answers[1][name], value, err_msg=name)


@pytest.mark.parametrize("rows", [0, 1, 150])
def test_pairs_of_columns_are_counted_as_their_joined_codes_by_the_loop_and_by_numpy(rows, monkeypatch):
    rng, sizes = default_rng(rows), np.array([2, 3, 1, 5])
    codes = np.stack([rng.integers(-1, size, rows) for size in sizes]).astype(np.int32)
    labels = Labels(rng.integers(0, 3, rows), rng.choice([0.5, 2.0], rows), 3)
    columns = np.array([(0, 1), (3, 0), (2, 1), (3, 3)])
    joined = np.stack([np.where(codes[pair].min(0) < 0, -1, codes[i] * sizes[j] + codes[j])
                       for pair in columns for i, j in [pair]], axis=1)  # fmt: skip
    for compiled in (False, True):
        monkeypatch.setattr(blocks, "worthwhile", lambda *_, compiled=compiled: compiled)
        found = np.split(sums.pairs(codes, sizes, columns, labels), [6, 16, 19], axis=1)
        for code, (i, j), counts in zip(joined.T, columns, found, strict=True):
            assert_array_equal(counts, labels.table(code[:, None], sizes[i] * sizes[j])[:, 0])
    assert sums.pairs(codes, sizes, columns[:0], labels).shape == (3, 0)


@pytest.mark.parametrize(("columns", "weighted"), [(4, False), (11, False), (20, True)])
def test_padded_rows_and_their_zeros_give_the_bits_of_numpy(columns, weighted, monkeypatch):
    rng = default_rng(columns)
    X, y = rng.normal(size=(150, columns)) * (rng.random((150, columns)) < 0.7), rng.integers(0, 3, 150)
    X[64:128] += X[64:128] == 0  # Rows without zeros are counted together.
    weight = rng.choice([0.5, 2.0], 150) if weighted else np.ones(150)
    forms = []
    for compiled in (False, True):
        monkeypatch.setattr(blocks, "worthwhile", lambda *_, compiled=compiled: compiled)
        forms.append(sums.moments(X, y, weight, 3, centred=False))
    assert_array_equal(forms[1], forms[0])
    assert_array_equal(forms[0][0, :, 7], [weight[y == c] @ (X[y == c] != 0) for c in range(3)])


@pytest.mark.parametrize("compiled_too", [False, True], ids=["numpy", "compiled"])
@pytest.mark.parametrize("columns", [1, 4, 7, 601])
def test_bits_hold_the_cells_of_their_table(columns, compiled_too, monkeypatch):
    monkeypatch.setattr(blocks, "worthwhile", lambda *_: compiled_too)
    rng = default_rng(columns)
    X, y = (rng.random((300, columns)) < 0.4).astype(float), rng.integers(0, 3, 300)
    bits, bytes_ = reading.zeros_and_ones(X), X.astype(np.uint8)
    for key in (slice(None), slice(3, 9), 5, [7, 2], X[:, 0] == 1, (slice(None), 0), ([1, 4], [0, -1])):
        assert_array_equal(bits[key], X[key])
    table = rng.normal(size=(2, 3, columns))
    assert_array_equal(densities.gather(bits, table), densities.gather(bytes_, table))
    assert_allclose(
        densities.gather_own(bits, table, y), densities.gather(bytes_, table)[np.arange(300), y], rtol=1e-12
    )
    for weight in (np.ones(300), rng.random(300)):
        ones = [weight[y == c] @ X[y == c] for c in range(3)]
        assert_allclose(sums.count(bits, y, weight, 3, 2)[..., 1], ones, rtol=1e-12)
    for other in (0.5, np.nan, -1.0, np.inf):
        assert reading.zeros_and_ones(np.vstack([X, np.full(columns, other)])) is None


@pytest.mark.parametrize("dependence", [None, "auto"])
def test_every_question_has_the_same_answer_for_bits(dependence, monkeypatch):
    rng = default_rng(3)
    y = rng.integers(0, 3, 90)
    X, answers = (rng.random((90, 7)) < 0.2 + 0.2 * y[:, None]).astype(float), []
    for least in (2**19, 0):
        monkeypatch.setattr(blocks, "COMPILED_FROM", least)
        clf = BayesianNB(dependence=dependence, random_state=0).fit(X, y)
        tables = clf.predict_interval(X[:9]), clf.explain(X[:4]), clf.uncertainty(X[:9])
        numbers = [table.select_dtypes("number").to_numpy(float) for table in tables]
        answers.append([clf.predict_proba(X), *numbers, clf.partial_fit(X[:30], y[:30]).predict_proba(X)])
    for floats, bits in zip(*answers, strict=True):
        assert_allclose(bits, floats, rtol=1e-9, atol=1e-12)


def test_loops_over_trees_are_compiled_once_for_rows_with_weights_and_without(monkeypatch):
    X, y, loops = default_rng(0).normal(size=(90, 3)), np.arange(90) % 2, [trees.grow, trees.answer, trees.log_ratios]
    for each in loops:
        monkeypatch.setattr(each, "known", set())
    for weight in (None, np.resize([1.0, 2.0], 90)):
        BayesianNB(dependence="auto", random_state=0).fit(X, y, weight).predict_proba(X[:2])
    assert [len(each.known) for each in loops] == [1, 1, 1]


@pytest.mark.parametrize("kind", ["reals", "levels", "reals of known variance", "reals of unknown shape"])
def test_no_loop_is_compiled_again_for_protected_arrays(kind, monkeypatch):
    monkeypatch.setattr(blocks, "worthwhile", lambda *_: True)
    family, X, y, _ = table(kind, 3, 200)
    for array in (X, y):
        array.flags.writeable = False  # As an array of a frame of pandas.
    clf = BayesianNB(family, random_state=0).fit(X, y)
    assert clf.predict_proba(X).shape == (len(clf.loo(X, y)), 3)
    loops = [
        each for room in (densities, reading, sums) for each in vars(room).values() if isinstance(each, blocks.Loop)
    ]
    types = [str(one) for each in loops for signature in each.machine.signatures for one in signature]
    assert types
    assert not [one for one in types if "readonly" in one]


@pytest.mark.parametrize("kind", [float, bool])
def test_more_ones_are_counted_than_a_byte_holds(kind, monkeypatch):
    monkeypatch.setattr(blocks, "COMPILED_FROM", 0)
    monkeypatch.setattr(blocks, "ALONE", 0)
    X, y = np.ones((2000, 20), kind), np.arange(2000) % 3
    X[0] = 0
    counts = BayesianNB(Bernoulli()).fit(X, y).classifier_.statistics.features["x"]
    assert_array_equal(counts.ones, np.repeat([[666.0], [667.0], [666.0]], 20, axis=1))
    assert_array_equal(counts.n, np.repeat([[667.0], [667.0], [666.0]], 20, axis=1))


@pytest.mark.parametrize("kind", [*KINDS, pytest.param("reals of one of two families", marks=pytest.mark.slow)])
def test_any_number_of_threads_gives_the_same_bits(kind, compiled, monkeypatch):
    family, X, y, weight = table(kind, 4, ROWS.get(kind, 500))
    compiled()
    answers = []
    for n in (1, 2, 16):
        # Sixteen threads share the processors there are; a worker starts no further ones.
        monkeypatch.setattr(blocks, "threads", lambda n=n: 1 if current_thread().name.startswith(blocks.WORKER) else n)
        clf = BayesianNB(family, random_state=0).fit(X, y, weight)
        loo = clf.loo(X, y, weight).to_numpy()
        answers.append([clf.predict_log_proba(X), loo, nb.draws.sample_proba(clf, X[:9], 20)])
    for one, *others in zip(*answers, strict=True):
        for other in others:
            assert_array_equal(one, other)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Set the number of threads that numba and the matrix library use."""
    if n > numba.config.NUMBA_NUM_THREADS:
        pytest.skip(f"there are fewer than {n} processors")
    before = numba.get_num_threads()
    numba.set_num_threads(n)
    try:
        with threadpool_limits(n):
            yield
    finally:
        numba.set_num_threads(before)


# Reading


@pytest.mark.parametrize("kind", ["text", "categories", "declared"])
@pytest.mark.parametrize("owner", ["polars", "pyarrow", "pyarrow in chunks"])
def test_text_of_polars_and_pyarrow_keeps_its_values_when_it_is_coded(owner, kind):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    words = [None, "b", "a", None, "b", "c"]
    if owner == "polars":
        of = {"text": pl.String, "categories": pl.Categorical, "declared": pl.Enum(["c", "z", "b", "a"])}
        frame = pl.DataFrame({"t": pl.Series(words, dtype=of[kind])})
    else:
        parts = [words[:2], words[2:]] if "chunks" in owner else [words]
        chunks = [pa.array(part, pa.string()) for part in parts]
        if kind != "text":
            chunks = [chunk.dictionary_encode() for chunk in chunks]
        frame = pa.table({"t": pa.chunked_array(chunks)})
    codes, values = Table.of(frame).column("t").coded
    assert [None if code < 0 else values[code] for code in codes] == words
    # Levels that the type of a column declares exist without a row, as those of pandas do.
    assert set(values) == {"a", "b", "c"} | ({"z"} if (owner, kind) == ("polars", "declared") else set())


def test_an_infinite_cell_of_a_large_table_is_named(compiled):
    compiled()
    X, y = np.zeros((5000, 2)), np.tile([0, 1], 2500)
    X[4000, 1], X[17, 0] = np.inf, np.nan
    with pytest.raises(ValueError, match="column 'x1' is infinite in row 4000"):
        BayesianNB().fit(X, y)
    for value in (1e151, -1e-151):
        X[4000, 1] = value
        with pytest.raises(ValueError, match=r"column 'x1' holds -?1e.151 in row 4000"):
            BayesianNB().fit(X, y)
    X[4000, 1], X[4001, 1], X[4002, 1] = 1e150, -1e-150, 0.0
    for x in (X, np.asfortranarray(X), X[::2]):
        assert not reading.extreme(x)


ODD = {
    "reals": (np.inf, -np.inf),
    "reals with holes": (np.inf, -np.inf),
    "reals of known variance": (np.inf, -np.inf),
    "yes and no": (0.5, 2.0, -1.0, np.inf, -np.inf),
    "yes and no with holes": (0.5, 2.0, -1.0, np.inf, -np.inf),
    "words": (-1.0, np.inf, -np.inf, np.nan),
}


@pytest.mark.parametrize("row", [0, 701, N - 1])
@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in ODD.items() for value in values])
def test_an_invalid_cell_of_a_large_table_is_refused_by_name(kind, value, row, compiled):
    family, X, y, _ = table(kind)
    compiled()
    clf, odd, column = BayesianNB(family).fit(X, y), X.copy(), 3
    if sparse.issparse(X):
        odd.data[X.indptr[row]], column = value, X.indices[X.indptr[row]]
    else:
        odd[row, column] = value
    before = dict(vars(clf))
    for verb in (clf.fit, clf.partial_fit, clf.forget):
        with pytest.raises(ValueError, match=f"column 'x{column}' .* row {row}"):
            verb(odd, y)
    with pytest.raises(ValueError, match=f"column 'x{column}' .* row {row}"):
        clf.predict_proba(odd)
    assert vars(clf) == before


@pytest.mark.parametrize("value", [1, 3, 4, -1, 63, 64, 10**6, -(10**12)])
@pytest.mark.parametrize("column", [0, 1])
def test_a_level_in_only_one_late_row_of_a_large_table_is_learned(value, column, compiled):
    rng = default_rng(0)
    X, y = np.column_stack([rng.integers(0, 3, N), rng.integers(0, 5, N)]), rng.integers(0, 3, N)
    X[value == X], X[734, column] = 0, value
    expected = BayesianNB(Categorical()).fit(X, y)
    compiled()
    found = BayesianNB(Categorical()).fit(X, y)
    parts = BayesianNB(Categorical()).fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    for clf in (found, parts):
        got, want = clf.classifier_.statistics.features["x"], expected.classifier_.statistics.features["x"]
        assert_array_equal(got.with_levels(want.levels).counts, want.counts)
        assert got.counts.sum() == X.size
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match="were never learned"):
        BayesianNB(Categorical()).fit(np.delete(X, 734, axis=0), np.delete(y, 734)).forget(X, y)


def test_a_stored_zero_of_a_sparse_matrix_is_not_a_word(compiled):
    family, X, y, _ = table("words")
    compiled()
    clf = BayesianNB(family).fit(X, y)
    zeros = X.copy()
    zeros.data[::3] = 0.0
    none = zeros.copy()
    none.eliminate_zeros()
    assert_allclose(clf.predict_joint_log_proba(zeros), clf.predict_joint_log_proba(none), rtol=1e-12)
    assert_allclose(clf.fit(zeros, y).loo(zeros, y), clf.fit(none, y).loo(none, y), rtol=1e-12)


def test_overlapping_calls_restore_the_threads_of_the_matrix_library():
    def now():
        return [pool["num_threads"] for pool in blocks._pools().info() if pool["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        first, second, before = blocks.one_thread_each(), blocks.one_thread_each(), blocks.threads()
        for step in (first.__enter__, second.__enter__):
            step()
            assert set(now()) == {1}
            assert blocks.threads() == before
        first.__exit__(None, None, None)
        assert set(now()) == {1}
        second.__exit__(None, None, None)
        assert set(now()) == {2}


@pytest.mark.parametrize(
    ("y", "classes"),
    [(np.array([1, 2, 1, 2], ">i8"), [1, 2]), (np.array([1.0, 2.0, 1.0, 2.0], ">f8"), [1.0, 2.0]),
     (np.array(["b", "ä", "b", "ä"], ">U1"), ["b", "ä"]),
     (pd.Series(pd.Categorical([True, False, True, False])), [False, True]),
     (pd.Series(pd.Categorical(["b", "a", "b", "a"], categories=["z", "b", "a"])), ["a", "b"]),
     (pd.Series(["b", None, "b", "a"]), ["a", "b"]), (pd.Series([1, None, 2, 1], dtype="Int64"), [1, 2])],
)  # fmt: skip
def test_labels_of_every_kind_of_column_are_read_once(y, classes):
    target = read_target(y)
    assert target.classes.tolist() == classes
    known = [None if pd.isna(label) else label for label in y.tolist()]
    assert [None if code < 0 else target.classes[code] for code in target.codes] == known
    assert target.complete == (None not in known)
    kept = target.rows(np.array([True, False, True, False]))
    assert kept.classes[kept.codes].tolist() == [y.tolist()[0], y.tolist()[2]]


# What is loaded, and where it is kept


def python(code: str, **environment: str) -> str:
    import os

    # What compiles here runs once, so that it need not be optimized.
    environment = {**os.environ, **environment, "NUMBA_OPT": "0"}
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


LARGE = """
    import sys
    import numpy as np
    from bayesnb import BayesianNB
    X = np.random.default_rng(0).normal(size=(450_000, 10))
    y = np.arange(450_000) % 2
    clf = BayesianNB().fit(X[:100], y[:100])
    assert "numba" not in sys.modules
    for _ in range(4):
        proba = clf.predict_proba(X)
    assert "numba" in sys.modules and "pymc" not in sys.modules
    print(round(float(proba.sum()), 6))
"""


@pytest.mark.slow
def test_a_large_table_loads_the_compiler_and_caches_the_compiled_code(tmp_path):
    assert python(LARGE, NUMBA_CACHE_DIR=str(tmp_path)).split() == ["450000.0"]
    assert list(tmp_path.rglob("densities.*.nbc"))


@pytest.mark.slow
def test_a_missing_folder_for_compiled_code_is_not_an_error():
    out = python(
        LARGE, NUMBA_CACHE_DIR="/dev/null/nowhere", NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator"
    )  # fmt: skip
    assert out.split() == ["450000.0"]


def test_the_number_of_threads_follows_numba_and_threadpoolctl():
    with threads(1), threadpool_limits(2):
        assert blocks.threads() == 1
    with threads(2):
        assert blocks.threads() == 2
        with threadpool_limits(1):
            assert blocks.threads() == 1


@pytest.mark.parametrize("late", [0, 3000], ids=["a far first value", "values in late rows only"])
def test_moments_of_a_large_table_are_exact(late, compiled):
    compiled()
    x = 1e9 + default_rng(1).normal(size=(5000, 2))
    x[0], x[:late, 1] = 0.0, np.nan
    codes = np.repeat([0, 1], 2500)
    s = Gaussian().statistic(x, Labels.of(codes))
    for c, j in np.ndindex(2, 2):
        own = np.longdouble(x[codes == c, j])
        own = own[~np.isnan(own)]
        assert s.n[c, j] == len(own)
        if len(own):
            assert_allclose(s.scatter[c, j], float(((own - own.mean()) ** 2).sum()), rtol=1e-13)
            assert_allclose(s.mean[c, j] + s.centre.low[c, j], float(own.mean()), rtol=1e-15)


TINY = np.full((1, 50), 1e15), np.full((1, 50), 5e14), np.full((1, 50), 5e14)
HUGE = np.ones((2, 3)), np.full((2, 3), 1.5), np.array([[1.0] * 3, [1e-300] * 3])


@pytest.mark.parametrize(
    ("prior", "x"),
    [
        # With 1e15 rows behind it a cell's 1 + z² is 1 to 15 digits, and its logarithm counts 5e14 times.
        (TINY, default_rng(2).normal(size=(100, 50))),
        (HUGE, np.array([[0.0, 1e200, -1e300], [1e-300, np.nan, 1e155], [1.0, 2.0, 3.0]])),
    ],
    ids=["tiny squares", "squares beyond all floats"],
)
def test_products_of_columns_keep_their_digits(prior, x, compiled):
    posterior = NormalGamma(np.zeros(prior[0].shape), *prior)
    plain = Gaussian().log_predictive(posterior, x)
    compiled()
    assert_allclose(Gaussian().log_predictive(posterior, x), plain, rtol=1e-13)


def test_numbers_never_seen_are_missing_new_or_refused_in_a_large_table_too(compiled):
    X, y = np.array([[0], [1], [3]] * 7), np.tile([0, 1, 1], 7)
    ask = np.array([[2], [3], [-1], [10**6], [-(2**63)]])
    plain = [BayesianNB(Categorical(), unseen=policy).fit(X, y).predict_proba(ask) for policy in ("missing", "new")]
    compiled()
    fast = [BayesianNB(Categorical(), unseen=policy).fit(X, y) for policy in ("missing", "new")]
    for clf, expected in zip(fast, plain, strict=True):
        assert_allclose(clf.predict_proba(np.tile(ask, (N, 1))), np.tile(expected, (N, 1)), rtol=1e-13)
    with pytest.raises(ValueError, match=f"column 'x0' holds 2 in row {N}, which was never seen"):
        BayesianNB(Categorical(), unseen="error").fit(X, y).predict([[1]] * N + [[2], [-5]])
