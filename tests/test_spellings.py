"""Numbers written as text are the same numbers in every container, under every way to ask for them."""

import functools
import io
import pickle
import shlex
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import run
from pyarrow import feather

import bayesnb as nb
from bayesnb.data import amounts, readers
from bayesnb.errors import RefusedError
from bayesnb.estimator import BayesianNB

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Y = ["a", "b", "b"] * 20


def grouped(text: str, group: str, mark: str) -> str:
    return f"{float(text):,.2f}".translate({ord(","): group, ord("."): mark})


def signed(negative: str, positive: str = "{}"):
    return lambda text: (negative if text[0] == "-" else positive).format(text.lstrip("-"))


SPELLINGS = {
    "plain": str,
    "decimal comma": lambda text: text.replace(".", ","),
    "plus": signed("-{}", "+{}"),
    "minus of typesetters": signed("−{}"),
    "dash": signed("–{}"),
    "minus and blank": signed("- {}"),
    "minus behind": signed("{}-"),
    "brackets": signed("({})"),
    "brackets around all": lambda text: f"({text.lstrip('-')})",
    "brackets and unit": signed("({} kg)", "{} kg"),
    "brackets beside currency": signed("€({})", "€{}"),
    "brackets around currency": signed("(€{})", "€{}"),
    "minus before currency": signed("-${}", "${}"),
    "minus after currency": signed("$-{}", "${}"),
    "minus behind, currency": signed("{}- EUR", "{} €"),
    "groups of points": lambda text: grouped(text, ".", ","),
    "groups of commas": lambda text: grouped(text, ",", "."),
    "groups of blanks": lambda text: grouped(text, " ", ","),
    "groups of hard blanks": lambda text: grouped(text, "\u00a0", "."),
    "groups of thin blanks": lambda text: grouped(text, "\u202f", ","),
    "groups of apostrophes": lambda text: grouped(text, "'", "."),
    "groups of quotation marks": lambda text: grouped(text, "’", "."),
    "power": lambda text: f"{float(text):.3e}",
    "power with comma": lambda text: f"{float(text):.3E}".replace(".", ","),
    "no zero": lambda text: f"{float(text) / 1e5:.4f}".replace("0.", "."),
    "no decimals": lambda text: f"{float(text):.0f}.",
    "full width": lambda text: text.translate({p: 0xFEE0 + p for p in range(0x21, 0x7F)}),
    "unit": "{} kg".format,
    "currency": "{} €".format,
    "currency in part": lambda text: text + " €" * (text[-1] in "05"),
    "percent": "{} %".format,
    "blanks around": " {}  ".format,
}
"""How to write -1254.85 as text."""

REFUSED = {
    "two signs": signed("-({})"),
    "open bracket": signed("({}"),
    "minus apart": signed("{} -"),
    "bags of 5-kg": signed("{}-kg"),
    "at least": signed("{}+"),
    "percent in part": lambda text: text + " %" * (text[-1] in "05"),
    "credit": signed("{} CR", "{} DR"),
    "credit alone": signed("{} CR"),
    "thousands": lambda text: text + " k" * (text[-1] in "05"),
    "underscores": lambda text: text[:-4] + "_" + text[-4:],
}
"""Spellings that may be other numbers, so they are levels, and no family of numbers reads them."""

MEANS = {
    "brackets around all": lambda x: -np.abs(x), "power": lambda x: [float(f"{v:.3e}") for v in x],
    "power with comma": lambda x: [float(f"{v:.3e}") for v in x], "no zero": lambda x: np.round(x / 1e5, 4),
    "no decimals": np.round,
}  # fmt: skip
"""What the numbers of a spelling are, unless they are those of the plain column."""


def table(spellings) -> tuple[pd.DataFrame, dict]:
    rng, cells, numbers = np.random.default_rng(0), {"y": Y}, {}
    for name, write in spellings.items():
        x = np.round(rng.choice([-1, 1, 1], 60) * rng.uniform(1001, 2999, 60), 2)
        cells[name] = [write(f"{v:.2f}") for v in x]
        numbers[name] = np.asarray(MEANS.get(name, np.array)(x))
    return pd.DataFrame(cells), numbers


def of_stdin(frame, tmp_path, monkeypatch):
    data = frame.to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    return readers.Source("-")


def of_file(write, name):
    def put(frame, tmp_path, monkeypatch):
        write(frame, tmp_path / name)
        return tmp_path / name

    return put


CONTAINERS = {
    "frame": lambda frame, *_: frame,
    "objects": lambda frame, *_: frame.astype(object),
    "dict": lambda frame, *_: frame.to_dict("list"),
    "pyarrow": lambda frame, *_: pa.Table.from_pandas(frame),
    "Parquet": of_file(pd.DataFrame.to_parquet, "t.parquet"),
    "Arrow": of_file(lambda frame, path: feather.write_feather(frame, str(path)), "t.arrow"),
    "CSV": of_file(lambda frame, path: frame.to_csv(path, index=False), "t.csv"),
    "CSV with semicolons": of_file(lambda frame, path: frame.to_csv(path, index=False, sep=";"), "t.csv"),
    "Excel": of_file(lambda frame, path: frame.to_excel(path, index=False), "t.xlsx"),
    "stdin": of_stdin,
}


def found_in(clf: BayesianNB, names) -> dict:
    """The means of the classes, or "levels", of each column; "dropped" if ``inspect`` drops the column."""
    features, tables = clf.classifier_.schema.features, clf.tables()
    means = {name: tables[name]["mean"].tolist() for name in features if features[name].levels is None}
    return {name: means.get(name, "levels" if name in features else "dropped") for name in names}


@functools.cache
def typed_means() -> dict:
    """The means of the numbers of each spelling."""
    numbers = table(SPELLINGS)[1]
    typed = BayesianNB(nb.Gaussian()).fit(pd.DataFrame({**numbers, "y": Y}), "y")
    return {name: pytest.approx(own, rel=1e-9) for name, own in found_in(typed, numbers).items()}


KNOWN: dict[bytes, tuple[list, dict]] = {}


def as_inspected(whole, names) -> tuple[list, dict]:
    """The columns that ``inspect`` drops, and what its features read. Several files are read as one and the same frame,
    which is inspected once."""
    key = pickle.dumps(whole)
    if key not in KNOWN:
        found = nb.inspect(whole, "y")
        KNOWN[key] = found.drop, found_in(BayesianNB(found.features).fit(found.mended(whole), "y"), names)
    return KNOWN[key]


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_spelling_is_the_same_number_in_every_container(container, tmp_path, monkeypatch):
    frame, numbers = table(SPELLINGS)
    expected = typed_means()

    def given():
        return CONTAINERS[container](frame, tmp_path, monkeypatch)

    stated = BayesianNB(dict.fromkeys(numbers, "gaussian")).fit(given(), "y")
    assert found_in(stated, numbers) == expected
    whole = readers.frame(source) if isinstance(source := given(), readers.Source | type(tmp_path)) else source
    drop, found = as_inspected(whole, numbers)
    assert found == expected
    assert not drop
    usual = found_in(BayesianNB().fit(given(), "y"), numbers)
    assert {name: own for name, own in usual.items() if own not in ("levels", expected[name])} == {}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_spelling_that_may_be_another_number_is_read_as_no_number_in_any_container(container, tmp_path, monkeypatch):
    frame, numbers = table(REFUSED)
    source = CONTAINERS[container](frame, tmp_path, monkeypatch)
    whole = readers.frame(source) if isinstance(source, readers.Source | type(tmp_path)) else source
    assert set(found_in(BayesianNB().fit(whole, "y"), numbers).values()) == {"levels"}
    assert {*as_inspected(whole, numbers)[1].values()} <= {"levels", "dropped"}
    for name in numbers:
        with pytest.raises(ValueError, match=f"column '{name}' holds text"):
            BayesianNB({name: "gaussian"}).fit(whole, "y")


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("text", ["inf", "-Infinity", " +INF ", "1e999"])
@pytest.mark.parametrize("others", ["{}", "{}.25", "{},25", "{}.25 €"])
def test_an_infinite_number_is_the_same_error_in_every_container(container, text, others, tmp_path, monkeypatch):
    frame = pd.DataFrame({"x": [others.format(k) for k in range(60)], "y": Y})
    frame.loc[7:8, "x"] = text
    said = "^column 'x' is infinite in row 7"

    def given():
        return CONTAINERS[container](frame, tmp_path, monkeypatch)

    for spec in ("gaussian", nb.Number()):
        with pytest.raises(ValueError, match=said):
            BayesianNB({"x": spec}).fit(given(), "y")
    clf, new = BayesianNB({"x": nb.Number()}).fit(frame.drop(index=[7, 8]), "y"), given()
    if isinstance(new, readers.Source | type(tmp_path)):
        new = readers.frame(replace(readers.Source.of(new), format=clf.classifier_.schema.format(readers.Format())))
    with pytest.raises(ValueError, match=said):
        clf.predict_proba(new)
    frame.loc[9, "x"] = "-"  # Numbers beside a gap are numbers in all containers.
    if "€" not in others:
        with pytest.raises(ValueError, match=said):
            BayesianNB().fit(given(), "y")


NUMBERS = [f"{x:.2f}" for x in np.random.default_rng(0).uniform(1, 9, 60)]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("others", "odd", "specs"),
    [
        (NUMBERS, ("zeta", "alpha"), ["gaussian", "log-normal", nb.Number()]),
        (NUMBERS, ("-9.5", "-1.5"), ["log-normal"]),
        ([f"{x} kg" for x in NUMBERS], ("7 lb", "5 lb"), ["gaussian", nb.Number()]),
        ([f"{k % 28 + 1:02d}.01.2024" for k in range(60)], ("soon", "later"), [nb.Date()]),
        ([f"{k % 12 + 1:02d}/03/2024" for k in range(60)], ("05/30/2024", "05/20/2024"), [nb.Date(format="dmy")]),
        (["low", "high"] * 30, ("zeta", "alpha"), [nb.families.Ordinal(order=["low", "high"])]),
        ([str(k) for k in range(60)], ("5.678", "1.234"), [nb.Number(), nb.Bounded()]),
    ],
)
def test_a_refusal_names_the_first_row_in_every_container(container, others, odd, specs, tmp_path, monkeypatch):
    cells = [*others]
    cells[19], cells[21] = odd  # The first is the last in alphabetical order, and has the last class.
    frame = pd.DataFrame({"x": cells, "y": Y})
    for spec in specs:
        if odd[0] == "5.678" and container in ("CSV", "CSV with semicolons", "stdin"):
            continue  # The separator of the cells settles the mark.
        with pytest.raises(RefusedError) as refused:
            BayesianNB({"x": spec}).fit(CONTAINERS[container](frame, tmp_path, monkeypatch), "y")
        assert (refused.value.row, str(refused.value.value)) == (19, odd[0])
        assert "in row 19" in str(refused.value)


@pytest.mark.parametrize("text", ["5,-", "5.-", "5.–", "CHF 5.-", "5/-"])
def test_a_dash_in_place_of_the_cents_is_no_minus(text):
    found = amounts.measured(text) or amounts.labelled(text)
    assert {*found.values.values()} == {5.0}


def test_whole_numbers_in_brackets_may_be_codes():
    X = {"x": [f"({k})" for k in range(30)] * 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nb.inspect(X).features == {}


OTHERS = {"{},55": "Parquet", "{},55 €": "CSV with semicolons", "{}.55": "Arrow", "{}.55 €": "Excel"}
"""Cells of another column, and the container in which this column is dropped: it is read all the same."""


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("other", OTHERS)
def test_the_texts_of_a_file_settle_an_open_decimal_mark_in_every_container(other, drop, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    texts = [f"{k:,}".replace(",", ".") for k in rng.integers(1001, 9999, 60)]
    frame = pd.DataFrame({"x": texts, "typed": rng.normal(size=60), "t": [other.format(k) for k in range(60)], "y": Y})
    typed = pd.DataFrame({"x": [float(text.replace(".", "" if "," in other else ".")) for text in texts], "y": Y})
    expected = pytest.approx(found_in(BayesianNB(nb.Gaussian()).fit(typed, "y"), ["x"])["x"])
    found = nb.inspect(frame, "y").features if not drop else {}
    assert drop or found["x"] == nb.Number(decimal="," if "," in other else ".")
    for name in [OTHERS[other]] if drop else OTHERS.values():
        # In a CSV file, each number is a text.
        path = CONTAINERS[name](frame.drop(columns=["typed"] * name.startswith("CSV")), tmp_path, monkeypatch)
        asked = run(capsys, "inspect", path.name, "--target", "y", *["--drop", "t"] * drop)
        command = shlex.split(asked[1].rpartition("bayesnb fit ")[2])
        assert run(capsys, "fit", *command[:-2], "--dependence", "none", "-o", "m.bayesnb")[0] == 0, asked
        assert found_in(nb.load("m.bayesnb"), ["x"]) == {"x": expected}, name


@functools.cache
def typed_table(family, point: bool) -> pd.DataFrame:
    numbers = np.random.default_rng(0).integers(1001, 9999, 60)
    return BayesianNB({"x": family}).fit({"x": numbers / 1000 if point else numbers, "y": Y}, "y").tables()["x"]


@pytest.mark.parametrize("container", [*CONTAINERS, "parts"])
@pytest.mark.parametrize("spec", ["gaussian", nb.Number(), nb.Bounded(), nb.families.PolyaTree()])
@pytest.mark.parametrize("unit", ["", " €"])
@pytest.mark.parametrize("other", ["{},55 €", "{}.55"])
def test_other_columns_settle_the_open_decimal_mark_of_a_stated_family_in_every_container(
    container, spec, unit, other, tmp_path, monkeypatch
):
    numbers = np.random.default_rng(0).integers(1001, 9999, 60)
    texts = [f"{k:,}".replace(",", ".") for k in numbers]
    frame = pd.DataFrame({"x": texts, "t": [other.format(k) for k in range(60)], "y": Y})
    frame["x"] += unit
    first = 60 if isinstance(spec, nb.families.PolyaTree) else 20  # Its cells are taken from the first part.
    parts = iter([frame[:first], frame[first:]])
    given = parts if container == "parts" else CONTAINERS[container](frame, tmp_path, monkeypatch)
    if container in ("CSV", "stdin") and not unit and "," in other:  # The commas between cells contradict them.
        return
    clf = BayesianNB({"x": spec}).fit(given, "y")
    own = clf.tables()
    family = "gaussian" if isinstance(spec, nb.Number | nb.Bounded) else spec
    pd.testing.assert_frame_equal(own.get("number of x", own.get("x")), typed_table(family, "." in other))


@pytest.mark.parametrize("container", ["frame", "Parquet", "Excel"])
def test_typed_numbers_and_separators_settle_no_decimal_mark_of_texts(container, tmp_path, monkeypatch):
    frame = pd.DataFrame({"x": [f"{k},{k % 7 + 100}" for k in range(10, 70)], "typed": np.arange(60) + 0.5, "y": Y})
    source = CONTAINERS[container](frame, tmp_path, monkeypatch)
    assert found_in(BayesianNB().fit(source, "y"), ["x"]) == {"x": "levels"}
    with pytest.raises(ValueError, match="column 'x' holds text"):
        BayesianNB({"x": "gaussian"}).fit(source, "y")


def test_quoted_decimal_commas_contradict_the_commas_between_cells(tmp_path, monkeypatch):
    for x in ("1.234", "1,234"):
        frame = pd.DataFrame({"x": [x] * 60, "t": [f"{k},55" for k in range(60)], "y": Y})
        with pytest.raises(ValueError, match=r"nothing tells .*--decimal"):
            BayesianNB().fit(CONTAINERS["CSV"](frame, tmp_path, monkeypatch), "y")


@pytest.mark.parametrize("address", ["192.168.{}.{}", "650.{}.{}"])
def test_groups_of_digits_that_may_be_addresses_settle_no_decimal_mark(address, tmp_path, monkeypatch):
    texts = [f"{k}.{k % 7 + 100}" for k in range(10, 70)]
    frame = pd.DataFrame({"x": texts, "t": [address.format(k + 100, k + 200) for k in range(60)], "y": Y})
    clf = BayesianNB({"t": "categorical"}).fit(CONTAINERS["CSV with semicolons"](frame, tmp_path, monkeypatch), "y")
    typed = BayesianNB(nb.Gaussian()).fit(pd.DataFrame({"x": [*map(float, texts)]}), Y)
    assert found_in(clf, ["x"])["x"] == pytest.approx(found_in(typed, ["x"])["x"])
    source = CONTAINERS["Excel"](frame, tmp_path, monkeypatch)
    assert found_in(BayesianNB({"t": "categorical"}).fit(source, "y"), ["x"]) == {"x": "levels"}
