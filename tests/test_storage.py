"""A model file holds exactly the model, opens in any HDF5 reader, and is refused unless it is whole."""

import inspect
import io
import json
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import bayesnb as nb
from bayesnb import codec, packing, sealed
from bayesnb.families.family import Family

GOLDEN = Path(__file__).parent / "data" / "model_v1.nc"


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


def everything():
    """A model with every kind of feature, and priors of every form."""
    X, y = rows()
    told = {
        "text": nb.Categorical({"no": nb.Dirichlet({"ä": 1.5, "": 0.1, "nul\0": 1 / 3, "with space": 2, "never": 1.0}),
                                "yes": nb.Dirichlet.m_estimate(3.0)}),
        "whole": nb.Categorical(nb.Dirichlet([1.0, 2.0, 3.0, 4.0])),
        "mixed": nb.Categorical(nb.Dirichlet.bdeu(5.0)),
        "switch": nb.Bernoulli(nb.Beta(0.1 + 0.2, 1e-300)),
        "real": nb.Gaussian({"no": nb.NormalGamma(1e6, 2.0, 1.0, 3.0), "yes": nb.NormalGamma()}),
        "known": nb.GaussianKnownVariance(nb.Normal(0.0, 7.0), 2.5),
        "cut": nb.Binned(edges=[-1.0, 0.1, 2.0]),
        "events": nb.Poisson(exposure="hours"),
        "pets": (nb.Multinomial(nb.Dirichlet(0.5)), ["cat", "dog"]),
    }  # fmt: skip
    prior = nb.Dirichlet({"no": 1.5, "yes": 2.5})
    return nb.BayesianNB(told, class_prior=prior, unseen="new", random_state=3).fit(X, y, np.arange(60) % 4 / 3)


def assert_same_model(found, clf, X, rounding=0.0):
    joint = clf.predict_joint_log_proba(X)
    np.testing.assert_allclose(found.predict_joint_log_proba(X), joint, rtol=rounding)
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
            # The last parts of sums differ where one of them was summed with rounding.
            if not (rounding and what == "parts"):
                np.testing.assert_allclose(other.arrays()[what], value, rtol=rounding, atol=rounding, err_msg=what)


def saved(clf, tmp_path, name="model.nc"):
    clf.save(tmp_path / name)
    return nb.load(tmp_path / name)


def test_every_kind_of_feature_comes_back_to_the_last_bit(tmp_path):
    X, _ = rows()
    clf = everything()
    found = saved(clf, tmp_path)
    assert_same_model(found, clf, X)
    assert found.save(tmp_path / "again.nc") == clf.content_hash_
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "model.nc").read_bytes()
    pd.testing.assert_frame_equal(found.sample(20), clf.sample(20))
    pd.testing.assert_frame_equal(found.describe(), clf.describe())


def test_every_family_with_a_closed_form_has_a_place_in_files():
    def below(kind):
        return {kind, *(k for sub in kind.__subclasses__() for k in below(sub))}

    exact = {k for k in below(Family) if k.exact and not inspect.isabstract(k) and k.__module__.startswith("bayesnb")}
    assert exact >= {nb.Bernoulli, nb.Categorical, nb.Gaussian, nb.GaussianKnownVariance, nb.Multinomial, nb.Poisson}
    assert exact <= set(codec.CLASSES.values())
    assert {k.reads for k in exact} <= set(packing.KIND_OF)
    assert {k.conjugate for k in exact} <= set(codec.CLASSES.values())


@pytest.mark.parametrize("name", nb.datasets.names())
@pytest.mark.parametrize("estimate", ["mle", "map", "mean", "predictive"])
def test_every_estimate_comes_back(name, estimate, tmp_path):
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
def test_tables_without_text_names_come_back(X, tmp_path):
    clf = nb.BayesianNB().fit(X, list("abc") * 3)
    assert_same_model(saved(clf, tmp_path), clf, X)


def test_a_loaded_model_learns_on(tmp_path):
    X, y = nb.datasets.penguins()
    first = nb.BayesianNB().fit(X[:200], y[:200])
    found = saved(first, tmp_path).partial_fit(X[200:], y[200:])
    first.partial_fit(X[200:], y[200:])
    assert_same_model(found, first, X)
    assert found.target_ == "species"


def test_expected_counts_are_remembered_as_such(tmp_path):
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB().fit(X, y.where(np.arange(14) > 2))
    with pytest.raises(ValueError, match="expected counts"):
        saved(clf, tmp_path).forget(X[:1], y[:1])


@pytest.mark.parametrize(
    ("clf", "said"),
    [
        (nb.BayesianNB({"height_cm": nb.StudentT(draws=20, tune=20, chains=1)}), "is sampled"),
        (nb.BayesianNB(random_state=np.random.default_rng(0)), "Generator cannot be written"),
    ],
)
@pytest.mark.filterwarnings("ignore:StudentT was sampled:UserWarning")
def test_what_no_file_can_hold_is_refused_and_nothing_is_written(clf, said, tmp_path):
    X, y = nb.datasets.heights()
    clf.fit(X, y)
    with pytest.raises(ValueError, match=said):
        clf.save(tmp_path / "model.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_view_under_another_class_prior_is_not_the_model(tmp_path):
    X, y = nb.datasets.heights()
    view = nb.BayesianNB().fit(X, y).with_class_prior({"female": 0.1, "male": 0.9})
    with pytest.raises(ValueError, match="view under another class prior"):
        view.save(tmp_path / "model.nc")


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
        mean = tree["gaussian"]["mean"].sel(class_label="Gentoo", column="body_mass_g")
        assert float(mean) == pytest.approx(X["body_mass_g"][y == "Gentoo"].mean())
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


def test_describing_a_file_loads_neither_pymc_nor_numba(tmp_path):
    everything().save(tmp_path / "model.nc")
    code = (
        "import sys, bayesnb\n"
        f"found = bayesnb.describe({str(tmp_path / 'model.nc')!r})\n"
        "assert found['rows'] == {'no': 20.0, 'yes': 10.0} or sum(found['rows'].values()) > 0\n"
        "assert [f['family'] for f in found['features']][0] == 'Categorical'\n"
        "loaded = {'pymc', 'numba', 'pytensor', 'arviz', 'matplotlib'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_description_says_what_was_told_and_what_was_learned(tmp_path):
    clf = everything()
    clf.save(tmp_path / "model.nc")
    found = nb.describe(tmp_path / "model.nc")
    assert found["format_version"] == 1
    assert found["bayesnb_version"] == nb.__version__
    assert found["content_hash"] == clf.content_hash_
    assert found["rows"] == dict(zip(["no", "yes"], clf.class_count_, strict=True))
    assert found["configuration"]["unseen"] == "new"
    assert [f["feature"] for f in found["features"]] == clf.describe().index.tolist()


def test_the_golden_file_of_version_1_stays_loadable():
    X, _ = rows()
    # It holds moments that were summed with rounding.
    assert_same_model(nb.load(GOLDEN), everything(), X, rounding=1e-12)


# What is refused


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.nc"
    X, y = nb.datasets.penguins()
    nb.BayesianNB({"year": nb.Categorical()}).fit(X, y).save(path)
    return path


def resealed(path, change):
    """The file with its HDF5 part changed, under a right digest: what a liar would send."""
    data = path.read_bytes()[: -sealed.SEAL_SIZE]
    inner = path.with_name("inner.h5")
    inner.write_bytes(data)
    with h5py.File(inner, "r+") as file:
        change(file)
    found = path.with_name("lie.nc")
    found.write_bytes(sealed.seal(inner.read_bytes()))
    return found


def rehashed(path, change):
    """The same with a right content hash too."""

    def both(file):
        change(file)
        attributes = {name: np.asarray(file.attrs[name]).item() for name in sealed.ATTRIBUTES}
        arrays = {}
        for name, item in file.items():
            inner = item.items() if isinstance(item, h5py.Group) else [(None, item)]
            for part, each in inner:
                text = h5py.check_string_dtype(each.dtype) is not None
                at = f"/{name}" if part is None else f"/{name}/{part}"
                arrays[at] = each.asstr()[()] if text else each[()]
        file.attrs["content_hash"] = sealed.content_hash(attributes, arrays)

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
        document = codec.loads(file.attrs["schema"])
        file.attrs["schema"] = codec.dumps(document | said)

    return change


LIES = {
    "negative count": (rehashed, cell("categorical/counts", -1.0), "counts is -1 somewhere"),
    "nan": (rehashed, cell("gaussian/mean", np.nan), "mean is nan somewhere"),
    "infinite": (rehashed, cell("gaussian/scatter", np.inf), "scatter is inf somewhere"),
    "more values than rows": (rehashed, cell("gaussian/n", 1e6), "more values were seen than there are rows"),
    "whole numbers": (rehashed, replaced("gaussian/n", np.zeros((3, 4), int)), "is of type int64"),
    "complex numbers": (resealed, replaced("gaussian/n", np.zeros((3, 4), complex)), "is of type complex128"),
    "other shape": (rehashed, replaced("gaussian/n", np.zeros((3, 7))), r"is of shape \(3, 7\)"),
    "other rank": (rehashed, replaced("rows", np.zeros((3, 1))), "rows are of shape"),
    "array too many": (rehashed, lambda f: f.create_dataset("more", data=[1.0]), "Expected the arrays"),
    "array too few": (rehashed, lambda f: f.__delitem__("gaussian/low"), "gaussian/low"),
    "changed cell": (resealed, cell("categorical/counts", 7.0), "content hash does not fit"),
    "newer format": (resealed, attribute("format_version", 2), "newer bayesnb .format 2.*update"),
    "text as version": (resealed, attribute("format_version", "1"), "format_version"),
    "another format": (resealed, attribute("format", "arviz"), "'format' is not 'bayesnb'"),
    "no schema": (resealed, lambda f: f.attrs.__delitem__("schema"), "no attribute 'schema'"),
    "schema is no json": (rehashed, attribute("schema", "{"), "cannot|is not a model"),
    "deep json": (rehashed, attribute("schema", "[" * 100_000), "is not a model that can be read"),
    "unknown class": (rehashed, attribute("configuration", '{"is":"Popen","args":"ls"}'), "not a value of this format"),
    "unknown setting": (rehashed, attribute("configuration", '{"map":[["shell","ls"]]}'), "holds no model"),
    "bad setting": (rehashed, attribute("configuration", '{"map":[["estimate","guess"]]}'), "holds no model"),
    "one class twice": (rehashed, schema_with(labels=["Adelie", "Adelie", "Gentoo"]), "its classes are"),
    "endless labels": (rehashed, schema_with(classes="<U99999999"), "not an array of this format"),
    "labels of another kind": (rehashed, schema_with(classes="V8"), "not an array of this format"),
    "no feature": (rehashed, schema_with(features=[]), "its schema is not one"),
    "a column of no table": (rehashed, schema_with(names=("island",)), "its schema is not one"),
    "unknown policy": (rehashed, schema_with(unseen="guess"), "its schema is not one"),
    "soft link": (resealed, lambda f: f.__setitem__("more", h5py.SoftLink("/rows")), "holds a link"),
    "external link": (resealed, lambda f: f.__setitem__("more", h5py.ExternalLink("/etc/x", "/")), "holds a link"),
    "group in a group": (resealed, lambda f: f.create_group("gaussian/deeper"), "which no model has"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_whole_file_that_lies_is_refused(lie, model):
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
def test_a_header_that_claims_cells_that_are_not_there_allocates_nothing(create, model):
    def change(file):
        del file["rows"]
        create(file)

    with pytest.raises(nb.ModelFileError, match=r"claims .* bytes, which the file does not hold"):
        nb.load(resealed(model, change))


def test_levels_that_would_fill_memory_up_are_refused(model):
    with h5py.File(io.BytesIO(model.read_bytes())) as file:
        features = codec.loads(file.attrs["schema"])["features"]
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

    with pytest.raises(nb.ModelFileError, match="claims 1200000000 counts"):
        nb.load(rehashed(model, change))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a model file"),
        (b"outlook,play\nsunny,no\n", "is not a model file"),
        (pickle.dumps({"a": 1}), "is not a model file"),
        (sealed.HDF5, "was cut short, or was not written by bayesnb"),
        (sealed.HDF5 + b"\0" * 10_000, "was cut short, or was not written by bayesnb"),
        (sealed.seal(sealed.HDF5 + b"\0" * 1000), "is not a model that can be read"),
    ],
)
def test_what_is_no_model_file_is_refused(content, said, tmp_path):
    path = tmp_path / "m.nc"
    path.write_bytes(content)
    with pytest.raises(nb.ModelFileError, match=said):
        nb.load(path)


def test_netcdf_of_someone_else_is_refused(tmp_path):
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
    with pytest.raises(nb.ModelFileError, match="not written by bayesnb"):
        nb.load(tmp_path / "m.nc")
    (tmp_path / "n.nc").write_bytes(sealed.seal((tmp_path / "m.nc").read_bytes()))
    with pytest.raises(nb.ModelFileError, match="has no attribute 'format'"):
        nb.load(tmp_path / "n.nc")


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        nb.load(tmp_path / "none.nc")
    with pytest.raises(IsADirectoryError):
        nb.load(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(share, model, tmp_path):
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
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutated_schema_under_right_digests_gives_a_model_or_the_one_error(data, model):
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
    assert repr(codec.loads(codec.dumps(value))) == repr(value)


# Who else writes


def test_a_model_that_was_changed_meanwhile_is_kept(model, tmp_path):
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
