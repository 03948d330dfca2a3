"""Columns of text that look like identifiers are named by ``fit``."""

import numpy as np
import pandas as pd
import pytest

from bayesnb import BayesianNB, Categorical, datasets
from bayesnb.errors import IdentifierWarning

X, Y = datasets.play_tennis()
DAYS = [f"D{k}" for k in range(14)]


def test_fit_names_a_column_of_text_with_a_level_of_its_own_in_nearly_every_row():
    with pytest.warns(
        IdentifierWarning, match="column 'day' looks like an identifier or free text, 14 levels in 14 rows"
    ):
        clf = BayesianNB().fit(X.assign(day=DAYS), Y)
    with pytest.warns(UserWarning, match="a level never seen"):
        found = clf.predict_proba(X.assign(day="D99"))
    np.testing.assert_allclose(found, BayesianNB().fit(X, Y).predict_proba(X), rtol=1e-12)


def test_a_table_that_is_read_in_parts_is_judged_as_a_whole():
    parts = [X.assign(day=DAYS, play=Y)[k : k + 7] for k in (0, 7)]
    with pytest.warns(IdentifierWarning, match="14 levels in 14 rows"):
        BayesianNB().fit(iter(parts), "play")


@pytest.mark.parametrize(
    ("X", "features"),
    [
        (X.assign(day=DAYS), {"day": Categorical()}),
        (X.assign(day=DAYS[:7] * 2), None),
        (X.assign(day=pd.Categorical(["D1", "D2"] * 7, categories=DAYS)), None),
        (X.assign(day=DAYS)[:10], None),
    ],
    ids=["specified", "every level twice", "declared levels", "too few rows to tell"],
)
def test_other_columns_are_not_named(X, features):
    # Warnings are errors here.
    BayesianNB(features).fit(X, Y[: len(X)])
