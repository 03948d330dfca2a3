"""The numbers of ``references.json`` are found again: of textbooks, exact fractions, sixty digits, and quadrature.

Each entry of the file says where its numbers come from; what its cases share stands beside the source. A case is a
model, what it learned (columns by name, an array, or an embedded data set), which rows it is asked about, and what is
expected. A textbook's number may be written as its product of fractions. ``null`` is a missing value.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import bayesnb
from bayesnb import datasets, families, priors

NAMES = {name: getattr(room, name) for room in (priors, families, bayesnb) for name in dir(room)}
SOURCES = json.loads(Path(__file__).with_name("references.json").read_text(encoding="utf-8"))


def share_of_classes(clf):
    return clf.tables()["(class)"]["probability"].to_numpy()


def log_moment(clf, rows, t):
    """ln E[p(x | θ)^t] of a model with one feature, (row, class)."""
    ((name, belief),) = clf.posterior_.features.items()
    return clf.posterior_.model.features[name].log_moment(belief, np.transpose(list(rows.values())), t)


ANSWERS = {
    "class probabilities": lambda clf, rows: clf.predict_proba(rows),
    "joint probabilities": lambda clf, rows: np.exp(clf.predict_joint_log_proba(rows)),
    "joint log probabilities": lambda clf, rows: clf.predict_joint_log_proba(rows),
    "log densities": lambda clf, rows: clf.predict_joint_log_proba(rows) - np.log(share_of_classes(clf)),
    "log moment": log_moment,
    "log evidence of the cells": lambda clf, rows: clf.log_evidence_.conditional,
    "log evidence of the labels": lambda clf, rows: clf.log_evidence_.label,
    "probability of Exponential": lambda clf, rows: clf.tables()["v"]["P(Exponential)"],
}


def read(values: Any, thin: bool) -> Any:
    """The columns or the array of a case, its rows as a sparse matrix where that is asked for."""
    if isinstance(values, list):
        return (sparse.csr_array if thin else np.asarray)(np.array(values, float))
    text = {name: any(isinstance(value, str) for value in column) for name, column in values.items()}
    return {name: np.array(column, object if text[name] else float) for name, column in values.items()}


def number(value: Any) -> Any:
    """A number, or what a product of fractions makes, in lists as they are."""
    return [number(v) for v in value] if isinstance(value, list) else float(eval(str(value), {}))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source["source"][:60])
def test_the_reference_numbers_of_a_source_are_found_again(source, road):
    for case in (source | case for case in source["cases"]):
        learned = case["learned"]
        X, y = datasets.load(learned) if isinstance(learned, str) else (learned, case["y"])
        for thin in (False, True)[: 1 + case.get("sparse", False)]:
            table = X if isinstance(learned, str) else read(X, thin)
            clf = eval(case["model"], NAMES).fit(table, y, case.get("weight"))
            asked = [read(case["rows"], thin) if "rows" in case else None, *([case["t"]] if "t" in case else [])]
            found = ANSWERS[case["asked"]](clf, *asked)
            tolerance = {"rtol": case.get("rtol", 0.0), "atol": case.get("atol", 0.0)}
            assert_allclose(found, number(case["expected"]), **tolerance, err_msg=case["name"])
