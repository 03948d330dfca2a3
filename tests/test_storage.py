"""A model file contains exactly the model, opens in any reader of safetensors, and is refused if it is damaged."""

import copy
import json
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save

import bayesnb as nb
from bayesnb.dependence.exponents import DependenceName
from bayesnb.families import families
from bayesnb.modelfile import codec, container
from tests.model_files import array, cell, changed, content_of, said


def rows(n=60):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "text": np.array(["ä", "", "nul\0", "with space"], object)[rng.integers(0, 4, n)],
        "whole": rng.integers(0, 4, n),
        "switch": rng.random(n) < 0.4,
        "mixed": pd.Series([(True, False)[k % 2] if k % 3 else None for k in range(n)], dtype=object),
        "real": 1e6 + rng.normal(size=n),
        "known": rng.normal(size=n),
        "cut": rng.normal(size=n),
        "events": rng.poisson(2.0, n),
        "hours": rng.uniform(1, 2, n),
        "cat": rng.poisson(1.0, n),
        "dog": rng.poisson(2.0, n),
    })  # fmt: skip
    frame.loc[::7, "text"] = None
    frame.loc[::5, "real"] = np.nan
    return frame, np.where(np.arange(n) % 3 == 0, "yes", "no").astype(object)


def everything(least=1e-150):
    """A model with every kind of feature, and priors of every form."""
    X, y = rows()
    told = {
        "text": nb.Categorical({"no": nb.Dirichlet({"ä": 1.5, "": 0.1, "nul\0": 1 / 3, "with space": 2, "never": 1.0}),
                                "yes": nb.Dirichlet.m_estimate(3.0)}),
        "whole": nb.Categorical(nb.Dirichlet([1.0, 2.0, 3.0, 4.0])),
        "mixed": nb.Categorical(nb.Dirichlet.bdeu(5.0)),
        "switch": nb.Bernoulli(nb.Beta(0.1 + 0.2, least)),
        "real": nb.Gaussian({"no": nb.NormalGamma(1e6, 2.0, 1.0, 3.0), "yes": nb.NormalGamma()}),
        "known": nb.families.GaussianKnownVariance(nb.Normal(0.0, 7.0), 2.5),
        "cut": nb.Binned(edges=[-1.0, 0.1, 2.0]),
        "events": nb.Poisson(exposure="hours"),
        "pets": (nb.Multinomial(nb.Dirichlet(0.5)), ["cat", "dog"]),
    }  # fmt: skip
    prior = nb.Dirichlet({"no": 1.5, "yes": 2.5})
    return nb.BayesianNB(told, class_prior=prior, unseen="new", random_state=3).fit(X, y, np.arange(60) % 4 / 3)


def assert_same_model(found, clf, X):
    joint = clf.predict_joint_log_proba(X)
    np.testing.assert_allclose(found.predict_joint_log_proba(X), joint, rtol=0)
    assert found.classes_.tolist() == clf.classes_.tolist()
    assert [type(c) for c in found.classes_.tolist()] == [type(c) for c in clf.classes_.tolist()]
    assert found.classes_.dtype == clf.classes_.dtype
    assert repr(found.get_params()) == repr(clf.get_params())
    assert found.classifier_.schema.names == clf.classifier_.schema.names
    for name, s in clf.classifier_.statistics.features.items():
        other = found.classifier_.statistics.features[name]
        names = [[getattr(each, what, None) for what in ("levels", "words")] for each in (other, s)]
        assert names[0] == names[1]
        assert repr(names[0]) == repr(names[1])  # 1, 1.0 and True are equal, and not the same.
        for what, value in s.arrays().items():
            np.testing.assert_allclose(other.arrays()[what], value, rtol=0, err_msg=what)


def saved(clf, tmp_path, name="model.bayesnb"):
    clf.save(tmp_path / name)
    return nb.load(tmp_path / name)


def test_loading_restores_every_kind_of_feature_to_the_last_bit(tmp_path):
    X, _ = rows()
    clf = everything()
    found = saved(clf, tmp_path)
    assert_same_model(found, clf, X)
    assert found.save(tmp_path / "again.bayesnb") == nb.describe(tmp_path / "model.bayesnb")["content_hash"]
    assert (tmp_path / "again.bayesnb").read_bytes() == (tmp_path / "model.bayesnb").read_bytes()
    pd.testing.assert_frame_equal(nb.draws.sample(found, 20), nb.draws.sample(clf, 20))
    pd.testing.assert_frame_equal(found.describe(), clf.describe())


def test_a_family_defined_elsewhere_is_not_in_the_list_of_families():
    @dataclass(frozen=True, eq=False)
    class Gaussian(nb.Gaussian):
        pass

    assert families()["Gaussian"] is nb.Gaussian
    with pytest.raises(codec.NotPlainError, match="Gaussian cannot be written"):
        codec.encode(Gaussian(), {})


@pytest.mark.parametrize("estimate", ["mle", "map", "mean"])
def test_loading_restores_the_estimate(estimate, tmp_path):
    X, y = nb.datasets.penguins()
    clf = nb.BayesianNB(estimate=estimate).fit(X, y)
    assert_same_model(saved(clf, tmp_path), clf, X)


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], [True, False, True], [1.0, -1.0, 3.0], ["b", "a", "c"], np.array([1, 2, 1], np.int8)]
)
def test_classes_keep_their_type(labels, tmp_path):
    clf = nb.BayesianNB().fit(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), labels)
    assert_same_model(saved(clf, tmp_path), clf, pd.DataFrame({"x": [0.0, np.nan]}))


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(9, 3)),
        pd.DataFrame({0: [1.0, 2.0, 3.0] * 3, 1: list("abc") * 3}),
        {"a": [True, False, None] * 3, "b": [1, None, 3] * 3},
    ],
)
def test_loading_restores_models_of_tables_without_text_names(X, tmp_path):
    clf = nb.BayesianNB().fit(X, list("abc") * 3)
    assert_same_model(saved(clf, tmp_path), clf, X)


def test_a_loaded_model_can_learn_more_rows(tmp_path):
    X, y = nb.datasets.penguins()
    first = nb.BayesianNB().fit(X[:200], y[:200])
    found = saved(first, tmp_path).partial_fit(X[200:], y[200:])
    first.partial_fit(X[200:], y[200:])
    assert_same_model(found, first, X)
    assert found.classifier_.target == "species"


def test_a_missing_folder_is_not_created(tmp_path):
    clf = nb.BayesianNB().fit(*nb.datasets.play_tennis())
    for write in (clf.save, lambda path: nb.report.write("a page", path)):
        with pytest.raises(FileNotFoundError, match=r"typo/model: there is no folder .*typo"):
            write(tmp_path / "typo" / "model")
    assert not [*tmp_path.iterdir()]


def test_a_file_holds_rows_for_the_dependences_that_the_docstring_of_save_names(tmp_path):
    X, y = nb.datasets.penguins()
    with_cells = set()
    for name in get_args(DependenceName.__value__):
        nb.BayesianNB(dependence=name).fit(X[::20], y[::20]).save(tmp_path / name)
        arrays = load_file(tmp_path / name)
        if any(array.size for key, array in arrays.items() if key.endswith("near.cells")):
            with_cells.add(name)
    assert with_cells == {"auto"}
    said = " ".join(nb.BayesianNB.save.__doc__.split())
    assert 'With ``dependence="auto"`` or ``Exponents(kernel=True)``' in said
    assert "holds every row and its class" in said


def test_a_model_without_counted_cells_forgets_rows_in_parts_and_is_saved(tmp_path):
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB(dependence="tempered").fit(X, y).forget(iter([X[:5].assign(play=y[:5])]), "play")
    clf.save(tmp_path / "model.bayesnb")
    assert nb.load(tmp_path / "model.bayesnb").class_count_.tolist() == [3, 6]


def test_loading_restores_that_counts_are_expected_counts(tmp_path):
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB().fit(X, y.where(np.arange(14) > 2))
    with pytest.raises(ValueError, match="expected counts"):
        saved(clf, tmp_path).forget(X[:1], y[:1])


def test_a_model_that_cannot_be_stored_is_refused_and_nothing_is_written(tmp_path):
    clf = nb.BayesianNB(random_state=np.random.default_rng(0)).fit(*nb.datasets.heights())
    with pytest.raises(ValueError, match="Generator cannot be written"):
        clf.save(tmp_path / "model.bayesnb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "value"), [("class_prior", "uniform"), ("unknown", "other")])
def test_a_file_that_would_predict_otherwise_than_the_estimator_is_not_written(name, value, tmp_path):
    X, y = nb.datasets.penguins()
    later = {name: value}
    clf = nb.BayesianNB().fit(X, y).set_params(**later)
    with pytest.raises(ValueError, match=rf"^{name} was set after the rows were learned.* discount\(1.0\)$"):
        clf.save(tmp_path / "model")
    assert not [*tmp_path.iterdir()]
    clf.discount(1.0).save(tmp_path / "model")
    for same in (nb.load(tmp_path / "model"), nb.BayesianNB(**later).fit(X, y)):
        np.testing.assert_allclose(same.predict_proba(X), clf.predict_proba(X), rtol=1e-12)


def test_an_estimate_that_is_set_after_a_fit_is_that_of_a_new_fit_and_of_the_file(tmp_path):
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB().fit(X, y)
    for estimate in ("map", "mean", "mle", "predictive"):
        clf.set_params(estimate=estimate).save(tmp_path / estimate)
        expected = nb.BayesianNB(estimate=estimate).fit(X, y).predict_joint_log_proba(X)
        for found in (clf, nb.load(tmp_path / estimate)):
            np.testing.assert_allclose(found.predict_joint_log_proba(X), expected, rtol=1e-12)


def test_any_reader_of_safetensors_opens_a_file(tmp_path):
    X, y = nb.datasets.penguins()
    nb.BayesianNB().fit(X, y).save(tmp_path / "model.bayesnb")
    arrays = load_file(tmp_path / "model.bayesnb")
    counts, total = arrays["statistics.features.island.counts"], arrays["statistics.features.body_mass_g.total"]
    assert counts[1, 0, 1] == ((y == "Chinstrap") & (X["island"] == "Dream")).sum()
    assert total[2, 0] == pytest.approx(X["body_mass_g"][y == "Gentoo"].sum())
    with safe_open(tmp_path / "model.bayesnb", "numpy") as file:
        assert json.loads(file.metadata()["bayesnb"])["content"]["target"] == "species"


# Reading it elsewhere


@pytest.mark.parametrize(
    "found",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array(2.5), np.arange(4, dtype=">i4")[::-2],
        np.zeros((0, 3)), np.array([True, False]), np.array([["a", "\0ä"]]), np.array([1, None, "b", (2.0,)], object),
        np.where(np.arange(8_000) % 100 == 7, np.arange(8_000.0), 0.0).reshape(2, 40, 100), np.zeros((70, 70)),
        np.where(np.arange(5_000) == 9, np.nan, 0.0), np.arange(9_000, dtype=">i2").reshape(3, 3_000) // 8_990,
    ],
)  # fmt: skip
def test_an_array_of_any_order_and_type_comes_back(found, tmp_path):
    arrays = {}
    document = codec.encode({"x": found}, arrays)
    (tmp_path / "m").write_bytes(container.packed(document, arrays)[0])
    back = codec.decode(*content_of(tmp_path / "m"), 0)["x"]
    assert (back.shape, back.dtype) == (found.shape, found.dtype.newbyteorder("="))
    np.testing.assert_array_equal(back, found)


def test_an_array_of_zeros_takes_little_of_a_file_and_keeps_the_sign_of_a_zero():
    arrays, table = {}, np.zeros((3, 100, 1024))
    table[1, 2, 3], table[2, 99, 1023] = -0.0, 2.5
    document = codec.encode({"x": table}, arrays)
    assert sum(array.nbytes for array in arrays.values()) < 100
    back = codec.decode(document, arrays, 0)["x"]
    assert back.tobytes() == table.tobytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"shape": [2**40]}, "more memory than a file of this size"),
        ({"shape": [3, 10]}, "not an array of this format"),
        ({"shape": [3, -100, -1024]}, "not an array of this format"),
        ({"at": "x"}, "has no array 'x', or uses it twice"),
    ],
)
def test_an_array_with_false_positions_of_its_numbers_is_refused(change, says):
    arrays, table = {}, np.zeros((3, 100, 1024))
    table[2, 99, 1020:] = 1.0
    document = codec.encode(table, arrays)
    with pytest.raises(ValueError, match=says):
        codec.decode(document | change, arrays, 0)
    for false in ([5, 4, 3, 2], [0, 0, 1, 2], [-1, 0, 1, 2], [0.5, 1, 2, 3], [1, 2, 3]):
        with pytest.raises(ValueError, match="not an array of this format"):
            codec.decode(document, arrays | {document["at"]: np.array(false)}, 0)


def test_a_pickle_holds_no_term_that_follows_from_the_counts():
    X, y = nb.datasets.heights()
    clf = nb.BayesianNB(dependence="pairwise").fit(X, y)
    before = clf.predict_proba(X)  # Terms are computed at the first prediction, and kept.
    terms = clf.classifier_.dependence.terms
    assert len(vars(terms)) > 1
    copy = pickle.loads(pickle.dumps(clf))
    assert [*vars(copy.classifier_.dependence.terms)] == ["statistics"]
    np.testing.assert_array_equal(copy.predict_proba(X), before)


def test_a_description_has_the_parameters_and_what_was_learned(tmp_path):
    clf = everything()
    content = clf.save(tmp_path / "model.bayesnb")
    found = nb.describe(tmp_path / "model.bayesnb")
    assert found["format_version"] == 1
    assert found["bayesnb_version"] == nb.__version__
    assert found["content_hash"] == content
    assert found["rows"] == dict(zip(["no", "yes"], clf.class_count_, strict=True))
    assert found["configuration"]["unseen"] == "new"
    assert [f["feature"] for f in found["features"]] == clf.describe().index.tolist()


# What is refused


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.bayesnb"
    X, y = nb.datasets.penguins()
    nb.BayesianNB({"year": nb.Categorical()}).fit(X, y).save(path)
    return path


TOTAL, COUNTS = "statistics.features.body_mass_g.total", "statistics.features.island.counts"


def without(name):
    return lambda content, arrays: arrays.pop(name)


def more(content, arrays):
    arrays["more"] = np.zeros(2)


def used_twice(content, arrays):
    arrays.pop(TOTAL)
    total = dict(content["statistics"]["features"]["map"])["body_mass_g"]["total"]
    total["array"] = "statistics.features.body_mass_g.n"


def no_feature(content, arrays):
    content["schema"]["features"] = content["statistics"]["features"] = {"map": []}
    for name in list(arrays):
        if ".features." in name:
            del arrays[name]


def added(*path):
    return said(*path, "more", as_=1)


LIES = {
    "negative count": (cell(COUNTS, -1.0), "'island': its counts is -1 somewhere"),
    "nan": (cell(TOTAL, np.nan), "total is nan somewhere"),
    "infinite": (cell("statistics.features.body_mass_g.scatter", np.inf), "scatter is inf somewhere"),
    "more values than rows": (
        cell("statistics.features.body_mass_g.n", 1e6),
        "more values were seen than there are rows",
    ),
    "a count of no level": (array(COUNTS, np.ones((3, 1, 4))), "its statistics are not those of its columns"),
    "whole numbers": (array(TOTAL, np.zeros((3, 1), int)), "its statistics are not those of its columns"),
    "other shape": (array(TOTAL, np.zeros((3, 7))), "its statistics are not those of its columns"),
    "other classes": (array(TOTAL, np.zeros((2, 1))), "its total is not that of 3 classes"),
    "other rank": (array("statistics.rows", np.zeros((3, 1))), "its rows of the classes are"),
    "negative rows": (cell("statistics.rows", -1.0), "its rows of the classes are"),
    "array too many": (more, "nothing says what its arrays .'more'. are"),
    "array too few": (without(TOTAL), "has no array 'statistics.features.body_mass_g.total', or uses it twice"),
    "array used twice": (used_twice, "has no array 'statistics.features.body_mass_g.n', or uses it twice"),
    "no schema": (lambda content, arrays: content.pop("schema"), "is not a model that can be read|holds"),
    "unknown part": (said("more", as_=1), "holds .*'more'"),
    "unknown field": (added("schema"), "Schema has no fields .*'more'"),
    "field too few": (lambda content, arrays: content["schema"].pop("named"), "Schema has no fields"),
    "unknown class": (said("configuration", as_={"is": "Popen", "args": "ls"}), "not a value of this format"),
    "no class of a model": (said("configuration", as_={"is": "Source", "path": "/"}), "not a value of this format"),
    "unknown setting": (said("configuration", as_={"map": [["shell", "ls"]]}), "holds no model"),
    "bad setting": (said("configuration", as_={"map": [["estimate", "guess"]]}), "holds no model"),
    "one class twice": (said("statistics", "labels", as_={"tuple": ["Adelie", "Adelie", "Gentoo"]}), "its classes are"),
    "endless labels": (said("classes", "dtype", as_="<U99999999"), "claim more memory than a file of this size"),
    "labels of another kind": (said("classes", "dtype", as_="V8"), "not an array of this format"),
    "no feature": (no_feature, "its schema is not one"),
    "a column of no table": (said("schema", "names", as_={"tuple": ["island"]}), "its schema is not one"),
    "unknown policy": (said("schema", "unseen", as_="guess"), "its schema is not one"),
    "a column twice": (
        said("schema", "features", "island", "columns", as_={"tuple": ["island", "island"]}),
        "its feature 'island' is not one",
    ),
    "another statistic": (
        said("statistics", "features", "body_mass_g", "is", as_="Scatter"),
        "its statistics are not those of its columns",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_complete_file_with_false_content_is_refused(lie, model):
    change, message = LIES[lie]
    with pytest.raises(nb.errors.ModelFileError, match=message):
        nb.load(changed(model, change))


def test_a_file_of_a_newer_format_is_refused(model):
    content, arrays = content_of(model)
    text = json.dumps({"digest": "", "format": container.FORMAT + 1, "version": "9", "content": content})
    path = model.with_name("newer.bayesnb")
    path.write_bytes(save(arrays, {"bayesnb": text}))
    with pytest.raises(nb.errors.ModelFileError, match=r"newer bayesnb .format 2.*update"):
        nb.load(path)


def test_one_flipped_bit_in_an_array_or_in_the_text_is_damage(model):
    data = model.read_bytes()
    for at in (len(data) - 3, data.index(b"Dream")):
        path = model.with_name("flipped.bayesnb")
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(
            nb.errors.ModelFileError, match="was damaged or changed: its digest does not fit its content"
        ):
            nb.load(path)


# Bombs: small files that would take much memory.


def claimed_cells(path):
    """An array whose header claims a tebibyte."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    header["statistics.rows"]["shape"] = [2**37]
    return headed(path, header, data)


def overlapping(path):
    """A thousand arrays that are one and the same part of the file."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    header |= {f"a{k}": header["statistics.rows"] for k in range(1000)}
    return headed(path, header, data)


def headed(path, header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + int.from_bytes(data[:8], "little") :])
    return path


def long_header(path):
    """A header that claims to be a gibibyte long."""
    path.write_bytes((2**30).to_bytes(8, "little") + path.read_bytes()[8:])
    return path


def wide_cells(path):
    """Twenty arrays of one short text each, of types with room for 33 million letters."""
    wide = {"cells": ["a"], "shape": [1], "dtype": "<U33000000"}
    return changed(path, said("configuration", as_={"map": [[str(k), wide] for k in range(20)]}))


def ragged_levels(path):
    """A feature with one column of many levels and many columns of one."""
    n = 20_000
    columns, ones = [f"c{k}" for k in range(n)], [{"tuple": [0]}] * (n - 1)

    def change(content, arrays):
        no_feature({"schema": {}, "statistics": {}}, arrays)
        for part in ("schema", "statistics"):
            content[part]["features"]["map"] = content[part]["features"]["map"][:1]
        levels = {"tuple": [{"tuple": [*range(n)]}, *ones]}
        feature, counts = (content[part]["features"]["map"][0][1] for part in ("schema", "statistics"))
        content["schema"]["names"] = feature["columns"] = {"tuple": columns}
        feature["kinds"], feature["levels"], counts["levels"] = {"tuple": ["integer"] * n}, levels, levels
        arrays[COUNTS] = np.zeros((3, 1, n))

    return changed(path, change)


def many_uses(path):
    """An array that the JSON names a thousand times."""
    content, arrays = content_of(path)
    arrays["a"] = np.zeros(2**17)
    content["configuration"] = {"map": [[str(k), {"array": "a"}] for k in range(1000)]}
    path.write_bytes(container.packed(content, arrays)[0])
    return path


LOADED = """
import resource, sys, bayesnb as nb
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        nb.load(path)
    except nb.errors.ModelFileError as error:
        print(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


BOMBS = (claimed_cells, overlapping, long_header, wide_cells, many_uses, ragged_levels)


@pytest.mark.slow
def test_a_small_file_that_would_fill_memory_is_refused_before_it_does(model, tmp_path):
    paths = []
    for bomb in BOMBS:
        folder = tmp_path / bomb.__name__
        folder.mkdir()
        paths.append(bomb(Path(shutil.copy(model, folder))))
    # The process remembers the most memory it has ever had, so each figure is that of the files so far.
    done = subprocess.run([sys.executable, "-c", LOADED, model, *paths], capture_output=True, text=True, check=True)
    refused, grown = done.stdout.splitlines()[1::2], done.stdout.splitlines()[::2]
    for path, refusal, memory in zip(paths, refused, grown[1:], strict=True):
        assert str(path) in refusal
        assert int(memory) - int(grown[0]) < 100, path


@pytest.mark.parametrize("where", ["bayesnb.modelfile.codec.decode", "bayesnb.learned.believed"])
def test_a_model_that_does_not_fit_into_memory_is_the_one_error(where, model, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(where, full)
    with pytest.raises(nb.errors.ModelFileError, match=r"model.bayesnb: .*does not fit into memory"):
        nb.load(model)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a model file"),
        (b"outlook,play\nsunny,no\n", "is not a model file"),
        (pickle.dumps({"a": 1}), "is not a model file"),
        (save({"x": np.zeros(3)}), "is not a model file"),
        (save({"x": np.zeros(3)}, {"made by": "another program"}), "is not a model file"),
        (save({"x": np.zeros(3)}, {"bayesnb": "no JSON"}), "is not a model that can be read"),
        (save({"x": np.zeros(3)}, {"bayesnb": "[]"}), "is not a model that can be read"),
        (save({"x": np.zeros(3)}, {"bayesnb": '{"digest":' + "[" * 100_000}), "is not a model that can be read"),
        (bytes(8) + container.START, "was cut short or damaged"),
        (bytes(8) + container.START + bytes(10_000), "was cut short or damaged"),
    ],
)
def test_a_file_that_is_not_a_model_is_refused(content, said, tmp_path):
    path = tmp_path / "m.bayesnb"
    path.write_bytes(content)
    with pytest.raises(nb.errors.ModelFileError, match=said):
        nb.load(path)


def test_a_missing_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        nb.load(tmp_path / "none.bayesnb")
    with pytest.raises(IsADirectoryError):
        nb.load(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(share, model, tmp_path):
    data = model.read_bytes()
    (tmp_path / "m.bayesnb").write_bytes(data[: int(share * len(data))])
    with pytest.raises(nb.errors.ModelFileError):
        nb.load(tmp_path / "m.bayesnb")


MUTATIONS = textwrap.dedent("""
    import resource, sys
    import numpy as np
    import bayesnb as nb

    path, work, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    good = open(path, "rb").read()
    rng = np.random.default_rng(seed)
    clf = nb.load(path)
    expected = nb.describe(path)["content_hash"]

    def mutated():
        data = bytearray(good)
        for _ in range(1 + rng.geometric(0.5)):
            at, n = int(rng.integers(len(data))), int(rng.integers(1, 64))
            match rng.integers(8):
                case 0: data[at] ^= 1 << int(rng.integers(8))
                case 1: data[at:at + n] = rng.bytes(n)
                case 2: data[at:at + n] = b"\\0" * n
                case 3: data[at:at + 8] = b"\\xff" * 8
                case 4: del data[at:at + n]
                case 5: data[at:at] = rng.bytes(n)
                case 6: del data[at:]
                case 7: data[at:at + n] = data[:n]
            if not data:
                break
        return bytes(data)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    same = refused = 0
    for k in range(1000):
        data = mutated()
        with open(work, "wb") as file:
            file.write(data)
        try:
            found = nb.load(work)
        except nb.errors.ModelFileError as error:
            assert str(work) in str(error) and "\\n" not in str(error), error
            refused += 1
        else:
            assert data == good or nb.describe(work)["content_hash"] == expected
            same += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 200, f"{grown} MiB"
    print(same, refused)
""")


@pytest.mark.slow
def test_a_thousand_mutated_files_load_to_the_same_model_or_are_refused(model, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MUTATIONS, model, tmp_path / "m.bayesnb", "20"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    same, refused = map(int, done.stdout.split())
    assert same + refused == 1000
    assert refused > 900


@given(data=st.data())
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_changed_document_with_a_right_digest_gives_a_model_or_a_model_file_error(data, model):
    content, arrays = content_of(model)
    name = data.draw(st.sampled_from(["schema", "configuration", "statistics"]))
    text = json.dumps(content[name])
    at = data.draw(st.integers(0, len(text) - 1))
    kind = data.draw(st.sampled_from(["drop", "digit", "swap", "text"]))
    other = {
        "drop": text[:at] + text[at + 1 :],
        "digit": re.sub(r"\d", lambda m: m.group() if m.start() < at else "9", text, count=40),
        "swap": text[:at] + text[at:][::-1],
        "text": text[:at] + data.draw(st.text(max_size=5)) + text[at:],
    }[kind]
    try:
        content[name] = json.loads(other)
    except ValueError:
        return
    path = model.with_name("other.bayesnb")
    path.write_bytes(container.packed(content, arrays)[0])
    try:
        found = nb.load(path)
    except nb.errors.ModelFileError:
        return
    new = nb.draws.sample(found, 3)
    assert np.isfinite(found.predict_proba(new.drop(columns=new.columns[0]))).all()


# Who else writes


def test_saving_over_a_model_that_was_changed_meanwhile_is_refused(model, tmp_path):
    path = Path(shutil.copy(model, tmp_path / "m.bayesnb"))
    X, y = nb.datasets.penguins()
    mine, theirs = nb.load(path), nb.load(path)
    written = theirs.partial_fit(X[:10], y[:10]).save(path, replacing=True)
    mine.partial_fit(X[10:30], y[10:30])
    with pytest.raises(nb.errors.ModelChangedError, match=r"was changed since it was read.*nothing was written"):
        mine.save(path, replacing=True)
    assert nb.describe(path)["content_hash"] == written
    again = nb.load(path).partial_fit(X[10:30], y[10:30])
    again.save(path, replacing=True)
    assert nb.load(path).class_count_.sum() == len(y) + 30


def test_a_saved_model_replaces_only_itself(model, tmp_path):
    path = Path(shutil.copy(model, tmp_path / "m.bayesnb"))
    clf = nb.load(path)
    path.unlink()
    with pytest.raises(nb.errors.ModelChangedError):
        clf.save(path, replacing=True)
    assert not path.exists()


def test_a_file_that_an_estimator_has_never_read_is_replaced(model, tmp_path):
    X, y = nb.datasets.penguins()
    path, other = (Path(shutil.copy(model, tmp_path / name)) for name in ("m.bayesnb", "other.bayesnb"))
    first, second = (nb.BayesianNB().fit(X[:n], y[:n]) for n in (200, 300))
    first.save(path, replacing=True)
    second.save(path, replacing=True)
    second.save(other, replacing=True)
    assert nb.load(path).class_count_.sum() == nb.load(other).class_count_.sum() == 300
    with pytest.raises(nb.errors.ModelChangedError):
        first.save(path, replacing=True)
    # What was read counts for its path, also through a link, and after another fit, a copy or a pickle.
    link = tmp_path / "link.bayesnb"
    link.symlink_to(path)
    for again in (nb.load(link).fit(X, y), copy.deepcopy(second), pickle.loads(pickle.dumps(second))):
        nb.BayesianNB().fit(X[:100], y[:100]).save(path)
        again.save(other)
        with pytest.raises(nb.errors.ModelChangedError):
            again.save(path, replacing=True)
        second.save(path)
