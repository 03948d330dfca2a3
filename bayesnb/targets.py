"""Class labels: a target as an array, its classes in order, and labels as codes.

``y`` may be any sequence scikit-learn takes; a missing label is None, NaN or pd.NA, or whatever the user says
stands for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from bayesnb.kernels import reading
from bayesnb.kernels.blocks import worth
from bayesnb.model import united_labels
from bayesnb.priors import Array

NO_LABEL = "no row has a label: y is missing everywhere"
NUMBERS = ("integer", "boolean", "floating", "mixed-integer-float")


def read_target(y: Any, unlabelled: Any = None) -> tuple[Array, Array]:
    """Labels (row,) in the type of those that are not missing, and which rows are labelled, as booleans.

    Parameters
    ----------
    y : array (row,)
    unlabelled : label, optional
        What stands for "no label", beside missing values.
    """
    if isinstance(y, list | tuple) and any(np.ndim(label) == 0 and pd.isna(label) for label in y):
        # As an array of strings, a NaN would be a class called "nan".
        y = np.array(y, object)
    y = column_or_1d(y, warn=True)
    labelled = ~pd.isna(y)
    if unlabelled is not None:
        labelled[labelled] = [label != unlabelled for label in y[labelled].tolist()]
    if not labelled.all():
        y = _filled(y, labelled)
    if labelled.any():
        if y.dtype.kind == "O":
            _require_one_kind(y[labelled].tolist())
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        _, distinct = _distinct(y if labelled.all() else y[labelled])
        # Each label twice is as good as all of them, and does not look like one class a row.
        few = len(distinct) <= len(y) // 2
        check_classification_targets(np.tile(distinct, 2) if few else y[labelled])
    return y, labelled


def _require_one_kind(labels: Sequence[Any]) -> None:
    """Labels must have an order, since the classes are sorted."""
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        odd = labels[text.index(False)]
        raise ValueError(
            f"y holds text, such as {labels[text.index(True)]!r}, and {type(odd).__name__}, such as {odd!r} in row "
            f"{text.index(False)}: write all labels in one type, such as y.astype(str)"
        )


def labels_of(classes: Array) -> tuple[Any, ...]:
    """The classes as plain values."""
    return tuple(classes.tolist())


def classes_of(*groups: Array) -> Array:
    """All classes of several arrays, sorted, in a type that holds them."""
    groups = [group for group in groups if len(group)]
    labels = united_labels(*(labels_of(group) for group in groups))
    found = np.empty(
        len(labels), np.result_type(*groups) if all(g.dtype.kind == groups[0].dtype.kind for g in groups) else object
    )
    found[:] = labels
    return found


def codes_of(classes: Array, y: Array) -> Array:
    """Positions of labels among the classes."""
    place = {label: c for c, label in enumerate(labels_of(classes))}
    codes, distinct = _distinct(y)
    for label in labels_of(distinct):
        if label not in place:
            raise ValueError(f"class {label!r} was never learned; the classes are {list(place)}")
    return np.array([place[label] for label in labels_of(distinct)], np.intp)[codes]


def classes_and_codes(y: Array) -> tuple[Array, Array]:
    """The classes of labels, sorted, and the position of each label among them."""
    codes, distinct = _distinct(y)
    classes, place = np.unique(distinct, return_inverse=True)
    in_order = (place == np.arange(len(place))).all()
    return classes, codes if in_order else place.astype(np.intp)[codes]


def _distinct(y: Array) -> tuple[Array, Array]:
    """The place of each label among the distinct ones, and these: no label is sorted, or looked at one by one."""
    if y.dtype.kind == "i" and worth(len(y)) and (found := reading.whole(y[:, None])) is not None:
        distinct = found.values(0)
        table = np.full(found.held.shape, -1)
        table[found.held] = np.arange(len(distinct))
        return reading.codes(y[:, None], found.low, table)[:, 0], distinct.astype(y.dtype)
    codes, distinct = pd.factorize(y)
    return codes.astype(np.intp, copy=False), np.asarray(distinct).astype(y.dtype, copy=False)


def _filled(y: Array, labelled: Array) -> Array:
    """Labels of which some are missing, in the type of those that are not; a filler stands for the missing."""
    named = y[labelled]
    if named.dtype.kind == "O" and pd.api.types.infer_dtype(named) in NUMBERS:
        named = np.array(named.tolist())
    if named.dtype.kind == "f" and np.isfinite(named).all() and (named == np.rint(named)).all():
        # Only the missing ones made floats of them.
        named = named.astype(np.int64)
    filled = np.zeros(len(y), named.dtype)
    filled[labelled] = named
    return filled
