"""A model file contains exactly the model, opens in any HDF5 reader, and is refused if it is damaged."""

import io
import json
import pickle
import re
import shutil
import struct
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import bayesnb as nb
from bayesnb.families import families
from bayesnb.families.family import Family
from bayesnb.modelfile import container, values


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
        "known": nb.GaussianKnownVariance(nb.Normal(0.0, 7.0), 2.5),
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
    assert found.schema_.names == clf.schema_.names
    for name, s in clf.statistics_.features.items():
        other = found.statistics_.features[name]
        assert other.names() == s.names()
        assert repr(other.names()) == repr(s.names())  # 1, 1.0 and True are equal, and not the same.
        for what, value in s.arrays().items():
            np.testing.assert_allclose(other.arrays()[what], value, rtol=0, err_msg=what)


def saved(clf, tmp_path, name="model.nc"):
    clf.save(tmp_path / name)
    return nb.load(tmp_path / name)


def test_loading_restores_every_kind_of_feature_to_the_last_bit(tmp_path):
    X, _ = rows()
    clf = everything()
    found = saved(clf, tmp_path)
    assert_same_model(found, clf, X)
    assert found.save(tmp_path / "again.nc") == clf.content_hash_
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "model.nc").read_bytes()
    pd.testing.assert_frame_equal(found.sample(20), clf.sample(20))
    pd.testing.assert_frame_equal(found.describe(), clf.describe())


def test_a_family_defined_elsewhere_is_not_in_the_list_of_families():
    @dataclass(frozen=True, eq=False)
    class Gaussian(nb.Gaussian):
        pass

    assert families()["Gaussian"] is nb.Gaussian
    with pytest.raises(values.NotPlainError, match="Gaussian cannot be written"):
        values.dumps(Gaussian())


def test_every_exported_family_is_in_the_list_of_families():
    exported = {name for name in nb.__all__ if isinstance(kind := getattr(nb, name), type) and issubclass(kind, Family)}
    assert exported == set(families())


@pytest.mark.parametrize("name", nb.datasets.names())
@pytest.mark.parametrize("estimate", ["mle", "map", "mean", "predictive"])
def test_loading_restores_the_estimate(name, estimate, tmp_path):
    X, y = nb.datasets.load(name)
    clf = nb.BayesianNB(estimate=estimate).fit(X, y)
    assert_same_model(saved(clf, tmp_path), clf, X)


@pytest.mark.parametrize(
    "labels",
    [[3, 1, 2], [True, False, True], [1.0, -1.0, 3.0], ["b", "a", "c"], np.array([1, 2, 1], np.int8)],
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
    assert found.target_ == "species"


def test_loading_restores_that_counts_are_expected_counts(tmp_path):
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB().fit(X, y.where(np.arange(14) > 2))
    with pytest.raises(ValueError, match="expected counts"):
        saved(clf, tmp_path).forget(X[:1], y[:1])


@pytest.mark.parametrize(
    ("clf", "said"),
    [
        (nb.BayesianNB(random_state=np.random.default_rng(0)), "Generator cannot be written"),
    ],
)
def test_a_model_that_cannot_be_stored_is_refused_and_nothing_is_written(clf, said, tmp_path):
    X, y = nb.datasets.heights()
    clf.fit(X, y)
    with pytest.raises(ValueError, match=said):
        clf.save(tmp_path / "model.nc")
    assert list(tmp_path.iterdir()) == []


# Reading it elsewhere


def test_a_file_opens_in_xarray_h5netcdf_and_h5py(tmp_path):
    import h5netcdf

    X, y = nb.datasets.penguins()
    clf = nb.BayesianNB().fit(X, y)
    clf.save(tmp_path / "model.nc")
    with xr.open_datatree(tmp_path / "model.nc") as tree:
        assert sorted(tree.children) == ["categorical", "gaussian"]
        counts = tree["categorical"]["counts"]
        assert counts.dims == ("class_label", "category")
        on_dream = counts.sel(class_label="Chinstrap", category="Dream")
        assert float(on_dream.squeeze()) == (X["island"][y == "Chinstrap"] == "Dream").sum()
        total = tree["gaussian"]["total"].sel(class_label="Gentoo", column="body_mass_g")
        assert float(total) == pytest.approx(X["body_mass_g"][y == "Gentoo"].sum())
        assert json.loads(tree.attrs["schema"])
    with h5netcdf.File(tmp_path / "model.nc") as file:
        assert file.dimensions["class_label"].size == 3
    with h5py.File(tmp_path / "model.nc") as file:
        assert file.attrs["format"] == "bayesnb"


def test_five_hundred_features_share_an_array(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(list("abc"), (30, 500)), columns=[f"c{k}" for k in range(500)])
    clf = nb.BayesianNB().fit(X, list("pq") * 15)
    assert_same_model(saved(clf, tmp_path), clf, X)
    with xr.open_datatree(tmp_path / "model.nc") as tree:
        assert list(tree.children) == ["categorical"]
        assert tree["categorical"]["counts"].shape == (2, 1500)
        assert set(tree["categorical"]["counts"].coords) == {"class_label", "feature", "column", "category"}


def test_a_description_has_the_parameters_and_what_was_learned(tmp_path):
    clf = everything()
    clf.save(tmp_path / "model.nc")
    found = nb.describe(tmp_path / "model.nc")
    assert found["format_version"] == 1
    assert found["bayesnb_version"] == nb.__version__
    assert found["content_hash"] == clf.content_hash_
    assert found["rows"] == dict(zip(["no", "yes"], clf.class_count_, strict=True))
    assert found["configuration"]["unseen"] == "new"
    assert [f["feature"] for f in found["features"]] == clf.describe().index.tolist()


# What is refused


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.nc"
    X, y = nb.datasets.penguins()
    nb.BayesianNB({"year": nb.Categorical()}).fit(X, y).save(path)
    return path


def resealed(path, change, change_bytes=bytes):
    """The file with its HDF5 part changed, under a right digest: what a liar would send."""
    data = path.read_bytes()[: -container.SEAL_SIZE]
    inner = path.with_name("inner.h5")
    inner.write_bytes(data)
    with h5py.File(inner, "r+") as file:
        change(file)
    found = path.with_name("lie.nc")
    found.write_bytes(container.seal(change_bytes(inner.read_bytes())))
    return found


def rehashed(path, change):
    """The same with a right content hash too."""

    def both(file):
        change(file)
        attributes = {name: np.asarray(file.attrs[name]).item() for name in container.ATTRIBUTES}
        arrays = {}
        for name, item in file.items():
            inner = item.items() if isinstance(item, h5py.Group) else [(None, item)]
            for part, each in inner:
                text = h5py.check_string_dtype(each.dtype) is not None
                at = f"/{name}" if part is None else f"/{name}/{part}"
                arrays[at] = each.asstr()[()] if text else each[()]
        file.attrs["content_hash"] = container.content_hash(attributes, arrays)

    return resealed(path, both)


def replaced(name, array):
    def change(file):
        attributes = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=array)
        assert attributes

    return change


def cell(name, value):
    def change(file):
        file[name][0, 0] = value

    return change


def attribute(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


def schema_with(**said):
    def change(file):
        document = values.loads(file.attrs["schema"], 2**20)[0]
        file.attrs["schema"] = values.dumps(document | said)

    return change


LIES = {
    "negative count": (rehashed, cell("categorical/counts", -1.0), "counts is -1 somewhere"),
    "nan": (rehashed, cell("gaussian/total", np.nan), "total is nan somewhere"),
    "infinite": (rehashed, cell("gaussian/scatter", np.inf), "scatter is inf somewhere"),
    "more values than rows": (rehashed, cell("gaussian/n", 1e6), "more values were seen than there are rows"),
    "whole numbers": (rehashed, replaced("gaussian/n", np.zeros((3, 4), int)), "is of type int64"),
    "complex numbers": (resealed, replaced("gaussian/n", np.zeros((3, 4), complex)), "is of type complex128"),
    "other shape": (rehashed, replaced("gaussian/n", np.zeros((3, 7))), r"is of shape \(3, 7\)"),
    "other rank": (rehashed, replaced("rows", np.zeros((3, 1))), "rows are of shape"),
    "array too many": (rehashed, lambda f: f.create_dataset("more", data=[1.0]), "Expected the arrays"),
    "array too few": (rehashed, lambda f: f.__delitem__("gaussian/total"), "gaussian/total"),
    "changed cell": (resealed, cell("categorical/counts", 7.0), "content hash does not fit"),
    "newer format": (resealed, attribute("format_version", 4), "newer bayesnb .format 4.*update"),
    "text as version": (resealed, attribute("format_version", "1"), "format_version"),
    "another format": (resealed, attribute("format", "arviz"), "'format' is not 'bayesnb'"),
    "no schema": (resealed, lambda f: f.attrs.__delitem__("schema"), "no attribute 'schema'"),
    "schema is no json": (rehashed, attribute("schema", "{"), "cannot|is not a model"),
    "deep json": (rehashed, attribute("schema", "[" * 100_000), "is not a model that can be read"),
    "unknown class": (rehashed, attribute("configuration", '{"is":"Popen","args":"ls"}'), "not a value of this format"),
    "unknown setting": (rehashed, attribute("configuration", '{"map":[["shell","ls"]]}'), "holds no model"),
    "bad setting": (rehashed, attribute("configuration", '{"map":[["estimate","guess"]]}'), "holds no model"),
    "one class twice": (rehashed, schema_with(labels=["Adelie", "Adelie", "Gentoo"]), "its classes are"),
    "endless labels": (rehashed, schema_with(classes="<U99999999"), "claims 1199999988 bytes of memory"),
    "labels of another kind": (rehashed, schema_with(classes="V8"), "not an array of this format"),
    "no feature": (rehashed, schema_with(features=[]), "its schema is not one"),
    "a column of no table": (rehashed, schema_with(names=("island",)), "its schema is not one"),
    "unknown policy": (rehashed, schema_with(unseen="guess"), "its schema is not one"),
    "soft link": (resealed, lambda f: f.__setitem__("more", h5py.SoftLink("/rows")), "holds a link"),
    "external link": (resealed, lambda f: f.__setitem__("more", h5py.ExternalLink("/etc/x", "/")), "holds a link"),
    "group in a group": (resealed, lambda f: f.create_group("gaussian/deeper"), "which no model has"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_complete_file_with_false_content_is_refused(lie, model):
    seal_again, change, said = LIES[lie]
    with pytest.raises(nb.ModelFileError, match=said):
        nb.load(seal_again(model, change))


@pytest.mark.parametrize(
    "create",
    [
        lambda f: f.create_dataset("rows", (10**12,), "f8", chunks=(10**6,)),
        lambda f: f.create_dataset("rows", (10**6, 10**6), "f8", chunks=(10**3, 10**3), compression="gzip"),
        lambda f: f.create_dataset("rows", (10**12,), h5py.string_dtype(), chunks=(10**6,)),
        lambda f: f.create_dataset("rows", data=np.zeros(10**6), compression="gzip"),
    ],
)
def test_a_header_that_claims_missing_cells_allocates_no_memory(create, model):
    def change(file):
        del file["rows"]
        create(file)

    with pytest.raises(nb.ModelFileError, match=r"claims .* bytes, which the file does not hold"):
        nb.load(resealed(model, change))


def test_levels_that_would_fill_the_memory_are_refused(model):
    with h5py.File(io.BytesIO(model.read_bytes())) as file:
        features = values.loads(file.attrs["schema"], 2**20)[0]["features"]
    long, columns = tuple(range(20_000)), tuple(f"c{k}" for k in range(20_000))
    island = features[0][1] | {
        "columns": columns, "levels": (long, *((0,),) * 19_999), "kinds": ("integer",) * 20_000,
    }  # fmt: skip
    n = 20_000 + 19_999

    def change(file):
        schema_with(features=[["island", island]], names=columns)(file)
        del file["gaussian"]
        for name in ("feature", "column", "category"):
            del file["categorical"][name]
            file["categorical"].create_dataset(name, data=np.full(n, "", object), dtype=h5py.string_dtype())
        del file["categorical/counts"]
        file["categorical"].create_dataset("counts", data=np.zeros((3, n)))

    with pytest.raises(nb.ModelFileError, match="filling up the columns with fewer levels claims"):
        nb.load(rehashed(model, change))


def shared_text(path):
    """Text cells that all point to one text of a mebibyte."""

    def change(file):
        del file["class_label"]
        cells = np.array(["x" * 2**20] + [""] * 599, object)
        file.create_dataset("class_label", data=cells, dtype=h5py.string_dtype())
        change.offset = file["class_label"].id.get_offset()

    def aimed(data):
        at = change.offset
        return data[:at] + data[at : at + 16] * 600 + data[at + 600 * 16 :]

    return resealed(path, change, aimed)


def long_text(path):
    """One text whose length is said to be a gibibyte."""
    with h5py.File(io.BytesIO(path.read_bytes())) as file:
        at = file["class_label"].id.get_offset()
    return resealed(path, lambda _: None, lambda data: data[:at] + (2**30).to_bytes(4, "little") + data[at + 4 :])


def hard_links(path):
    """One array under a thousand names."""

    def change(file):
        file["a"] = np.zeros(2**17)
        for k in range(1000):
            file[f"a{k}"] = file["a"]

    return resealed(path, change)


def wide_cells(path):
    """Twenty arrays of one short text each, of types with room for 33 million letters."""
    cell = {"array": ["a"], "shape": [1], "dtype": "<U33000000"}
    text = json.dumps({"map": [[str(k), cell] for k in range(20)]})
    return rehashed(path, attribute("configuration", text))


def ragged_levels(path):
    """Six features, each with one column of many levels and many columns of one."""
    n = 3000
    columns = tuple(f"c{k}" for k in range(n))
    levels = (tuple(range(n)), *((0,),) * (n - 1))
    with h5py.File(io.BytesIO(path.read_bytes())) as file:
        island = values.loads(file.attrs["schema"], 2**20)[0]["features"][0][1]
    feature = island | {"columns": columns, "levels": levels, "kinds": ("integer",) * n}
    cells = 6 * (2 * n - 1)

    def change(file):
        schema_with(features=[[f"f{k}", feature] for k in range(6)], names=columns)(file)
        del file["gaussian"]
        for name in ("feature", "column", "category"):
            del file["categorical"][name]
            file["categorical"].create_dataset(name, data=np.full(cells, "", object), dtype=h5py.string_dtype())
        del file["categorical/counts"]
        file["categorical"].create_dataset("counts", data=np.zeros((3, cells)))

    return rehashed(path, change)


def rotated(x, k):
    return (x << k | x >> 32 - k) & 0xFFFFFFFF


def checksum(data):
    """Bob Jenkins' lookup3, with which HDF5 checks the blocks of an object header."""
    a = b = c = 0xDEADBEEF + len(data)
    words = struct.unpack(f"<{-(-len(data) // 12) * 3}I", data + bytes(-len(data) % 12))
    for k in range(0, len(words) - 3, 3):
        a, b, c = ((x + y) & 0xFFFFFFFF for x, y in zip((a, b, c), words[k : k + 3], strict=True))
        for turn in (4, 6, 8, 16, 19, 4):
            a, c = ((a - c) & 0xFFFFFFFF) ^ rotated(c, turn), (c + b) & 0xFFFFFFFF
            a, b, c = b, c, a
    a, b, c = ((x + y) & 0xFFFFFFFF for x, y in zip((a, b, c), words[-3:], strict=True))
    for turn in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, turn)) & 0xFFFFFFFF
        a, b, c = b, c, a
    return b


def long_attribute(path):
    """An attribute whose text is said to be two gibibytes long, under the right checksum of its block."""

    def lied(data):
        start = data.index(b"OCHK")
        link = data.index(start.to_bytes(8, "little"))
        end = start + int.from_bytes(data[link + 8 : link + 16], "little") - 4
        assert checksum(data[start:end]) == int.from_bytes(data[end : end + 4], "little")
        # Before the address of the text and its number there stands its length.
        with h5py.File(io.BytesIO(data)) as file:
            length = len(file.attrs["schema"].encode())
        at = data.index(length.to_bytes(4, "little"), start)
        block = data[start:at] + (2**31).to_bytes(4, "little") + data[at + 4 : end]
        return data[:start] + block + checksum(block).to_bytes(4, "little") + data[end + 4 :]

    return resealed(path, lambda _: None, lied)


LOADED = """
import resource, sys, bayesnb as nb, h5py
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        nb.load(path)
    except nb.ModelFileError as error:
        print(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_small_file_that_would_fill_memory_is_refused_before_it_does(model, tmp_path):
    paths = []
    for bomb in (shared_text, long_text, long_attribute, hard_links, wide_cells, ragged_levels):
        folder = tmp_path / bomb.__name__
        folder.mkdir()
        paths.append(bomb(Path(shutil.copy(model, folder))))
    # The process remembers the most memory it has ever had, so each figure is that of the files so far.
    done = subprocess.run([sys.executable, "-c", LOADED, *paths], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    for path, refusal, grown in zip(paths, said[::2], said[1::2], strict=True):
        assert str(path) in refusal
        assert "bytes of memory, which is too much for a file of this size" in refusal
        assert int(grown) < 100, path


def test_a_large_honest_model_comes_back(tmp_path):
    names = np.array([f"level {k}" for k in range(50_000)], object)
    X = pd.DataFrame({"id": np.tile(names, 2), "few": np.arange(100_000) % 3})
    clf = nb.BayesianNB({"few": nb.Categorical()}).fit(X, np.arange(100_000) % 5)
    assert_same_model(saved(clf, tmp_path), clf, X[:100])


@pytest.mark.parametrize("where", ["bayesnb.modelfile.values.decode", "bayesnb.learning.believed"])
def test_a_model_that_does_not_fit_into_memory_is_the_one_error(where, model, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(where, full)
    with pytest.raises(nb.ModelFileError, match=r"model.nc: .*does not fit into memory"):
        nb.load(model)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a model file"),
        (b"outlook,play\nsunny,no\n", "is not a model file"),
        (pickle.dumps({"a": 1}), "is not a model file"),
        (container.HDF5, "was cut short, or was not written by bayesnb"),
        (container.HDF5 + b"\0" * 10_000, "was cut short, or was not written by bayesnb"),
        (container.seal(container.HDF5 + b"\0" * 1000), "is not a model that can be read"),
    ],
)
def test_a_file_that_is_not_a_model_is_refused(content, said, tmp_path):
    path = tmp_path / "m.nc"
    path.write_bytes(content)
    with pytest.raises(nb.ModelFileError, match=said):
        nb.load(path)


def test_a_netcdf_file_of_another_program_is_refused(tmp_path):
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
    with pytest.raises(nb.ModelFileError, match="not written by bayesnb"):
        nb.load(tmp_path / "m.nc")
    (tmp_path / "n.nc").write_bytes(container.seal((tmp_path / "m.nc").read_bytes()))
    with pytest.raises(nb.ModelFileError, match="has no attribute 'format'"):
        nb.load(tmp_path / "n.nc")


def test_a_missing_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        nb.load(tmp_path / "none.nc")
    with pytest.raises(IsADirectoryError):
        nb.load(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(share, model, tmp_path):
    data = model.read_bytes()
    (tmp_path / "m.nc").write_bytes(data[: int(share * len(data))])
    with pytest.raises(nb.ModelFileError):
        nb.load(tmp_path / "m.nc")


MUTATIONS = textwrap.dedent("""
    import resource, sys
    import numpy as np
    import bayesnb as nb

    path, work, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    good = open(path, "rb").read()
    rng = np.random.default_rng(seed)
    clf = nb.load(path)
    expected = clf.content_hash_

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
        except nb.ModelFileError as error:
            assert str(work) in str(error) and "\\n" not in str(error), error
            refused += 1
        else:
            assert data == good or found.content_hash_ == expected
            same += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 200, f"{grown} MiB"
    print(same, refused)
""")


def test_a_thousand_mutated_files_load_to_the_same_model_or_are_refused(model, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MUTATIONS, model, tmp_path / "m.nc", "20"],
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
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_changed_schema_with_right_digests_gives_a_model_or_a_model_file_error(data, model):
    with h5py.File(io.BytesIO(model.read_bytes())) as file:
        name = data.draw(st.sampled_from(["schema", "configuration"]))
        text = file.attrs[name]
    at = data.draw(st.integers(0, len(text) - 1))
    kind = data.draw(st.sampled_from(["drop", "digit", "swap", "text"]))
    other = {
        "drop": text[:at] + text[at + 1 :],
        "digit": re.sub(r"\d", lambda m: m.group() if m.start() < at else "9", text, count=40),
        "swap": text[:at] + text[at:][::-1],
        "text": text[:at] + data.draw(st.text(max_size=5)) + text[at:],
    }[kind]
    try:
        found = nb.load(rehashed(model, attribute(name, other.replace("\0", ""))))
    except nb.ModelFileError:
        return
    new = found.sample(3)
    assert np.isfinite(found.predict_proba(new.drop(columns=new.columns[0]))).all()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner)
    | st.dictionaries(st.text() | st.integers() | st.none() | st.booleans(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(value=VALUES)
@example({"is": "Dirichlet"})
@example({"map": [[1, 2]]})
@example({1: "a", "1": "b", None: 0.1})
def test_plain_values_come_back_as_they_were(value):
    assert repr(values.loads(values.dumps(value), 2**20)[0]) == repr(value)


# Who else writes


def test_saving_over_a_model_that_was_changed_meanwhile_is_refused(model, tmp_path):
    path = Path(shutil.copy(model, tmp_path / "m.nc"))
    X, y = nb.datasets.penguins()
    mine, theirs = nb.load(path), nb.load(path)
    read = mine.content_hash_
    theirs.partial_fit(X[:10], y[:10]).save(path, replacing=theirs.content_hash_)
    mine.partial_fit(X[10:30], y[10:30])
    with pytest.raises(nb.ModelChangedError, match=r"was changed since it was read.*nothing was written"):
        mine.save(path, replacing=read)
    assert nb.load(path).content_hash_ == theirs.content_hash_
    again = nb.load(path).partial_fit(X[10:30], y[10:30])
    again.save(path, replacing=again.content_hash_)
    assert nb.load(path).class_count_.sum() == len(y) + 30


def test_a_saved_model_replaces_only_itself(model, tmp_path):
    path = Path(shutil.copy(model, tmp_path / "m.nc"))
    clf = nb.load(path)
    path.unlink()
    with pytest.raises(nb.ModelChangedError):
        clf.save(path, replacing=clf.content_hash_)
    assert not path.exists()
