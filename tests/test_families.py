"""Whatever stands in the list of families can be tested, named, stored, read from files in parts, and looked up."""

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from test_laws import FAMILIES, cells

from bayesnb import BayesianNB, cli, families, load
from bayesnb.families.columns import LEVELS

EXACT = {name: kind for name, kind in families.families().items() if kind.exact}
NOT_NEGATIVE = [name for name, kind in EXACT.items() if kind().support.invalid(np.array([-1.0]))]
MAKERS = {type(family).__name__: make for family, make in reversed(FAMILIES.values())}
# The laws are those of classes that are independent; it has a file of tests of its own.
MAKERS["SharedGaussian"] = MAKERS["MultivariateGaussian"]


def table_of(kind):
    """A table of two columns or more that a family reads, and its classes."""
    x = MAKERS[kind](default_rng(7), 60)
    values = cells(x)
    values = values.toarray() if hasattr(values, "toarray") else np.array(values, float)
    frame = pd.DataFrame(values, columns=[f"c{k}" for k in range(values.shape[1])])
    if EXACT[kind]().support == LEVELS:
        frame = frame.apply(lambda column: column.map(lambda code: f"level {code:.0f}"))
    return frame, pd.Series(np.arange(60) % 3, name="y").map({0: "ant", 1: "bee", 2: "cow"})


def name_of(kind):
    return re.sub("(?<=.)(?=[A-Z])", "-", kind).lower()


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main([str(a) for a in arguments])
    return ended.value.code


def test_every_family_with_a_closed_form_is_tested_by_the_laws():
    assert set(MAKERS) == set(EXACT)


@pytest.mark.parametrize("kind", EXACT)
def test_every_family_is_named_on_the_command_line_fitted_in_parts_and_stored(kind, tmp_path):
    X, y = table_of(kind)
    (tmp_path / "rows").mkdir()
    for k in range(3):
        X.assign(y=y)[20 * k : 20 * k + 20].to_csv(tmp_path / "rows" / f"{k}.csv", index=False)
    said = {"f": ",".join(X.columns)}
    if kind == "Ordinal":
        # It is told the levels of a column, where others are told the columns of a feature.
        said = {name: ",".join(sorted(X[name].unique())) for name in X}
    if kind in ("Hurdle", "Mixture"):
        # They are told families: those that they are made of by default.
        parts = {"Hurdle": "log-normal", "Mixture": "gaussian,polya-tree"}[kind]
        said = dict.fromkeys(X, parts)
    if kind in ("Rounded", "GammaKnownShape", "GaussianKnownVariance"):
        # They are told a number.
        said = dict.fromkeys(X, "1")
    options = [text for name, rest in said.items() for text in ("--feature", f"{name}={name_of(kind)}:{rest}")]
    alone = ("--dependence", "none")
    assert run("fit", tmp_path / "rows", "--target", "y", *options, *alone, "-o", tmp_path / "m.bayesnb") == 0
    found = load(tmp_path / "m.bayesnb")
    # What a family takes from the first rows, such as edges, is a part of the model.
    features = found.classifier_.schema.features
    clf = BayesianNB({name: (f.family, list(f.columns)) for name, f in features.items()}).fit(X, y)
    assert list(features) == list(said)
    assert {type(feature.family) for feature in features.values()} == {EXACT[kind]}
    np.testing.assert_allclose(found.predict_proba(X), clf.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("kind", NOT_NEGATIVE)
def test_a_number_outside_the_support_of_a_family_is_refused_by_name(kind):
    X, y = table_of(kind)
    clf = BayesianNB({"f": (EXACT[kind](), list(X.columns))}).fit(X, y)
    X.loc[4, "c1"] = -1.0
    said = f"column 'c1' holds -1 in row 4, where {kind} needs {EXACT[kind]().support.needs}"
    for verb in (clf.partial_fit, clf.fit):
        with pytest.raises(ValueError, match=said):
            verb(X, y)
    with pytest.raises(ValueError, match=said):
        clf.predict(X)


def test_every_family_stands_on_the_api_page():
    page = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "families.py"))["page"]()
    assert {line.strip().removeprefix("families.") for line in page.splitlines()} >= set(families.families())


@pytest.mark.parametrize("kind", [name for name, family in EXACT.items() if family.by_column])
@pytest.mark.parametrize("outer", [lambda family: family, families.Hurdle], ids=["alone", "in a Hurdle"])
def test_describe_shows_the_settings_that_are_known_instead_of_learned(kind, outer):
    (setting,) = EXACT[kind].by_column
    family = outer(EXACT[kind](**{setting: 2.0}))
    clf = BayesianNB({"x": family}).fit({"x": [2.0, 4.0, 8.0, 2.0]}, ["a", "b", "a", "b"])
    assert f", {setting}=2" in clf.describe().loc["x", "prior"]


def test_describe_shows_only_those_other_settings_that_are_no_default():
    X, y = {"visits": [2, 4, 8, 2], "days": [1.0, 2.0, 3.0, 1.0]}, ["a", "b", "a", "b"]
    prior = BayesianNB({"visits": families.Poisson(exposure="days")}).fit(X, y).describe().loc["visits", "prior"]
    assert prior == "Gamma(alpha=1, beta=pooled), exposure='days'"
    assert BayesianNB().fit(X, y).describe()["prior"].str.endswith(")").all()
