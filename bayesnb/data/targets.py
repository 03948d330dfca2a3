"""Encode class labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.arrow import array_of as array_of_arrow
from bayesnb.data.columns import CellError, Column, as_objects, coded_array, without_unused
from bayesnb.data.tables import in_memory
from bayesnb.model import united_labels
from bayesnb.priors import Array
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import RefusedError, Spelled, some, warn

NO_LABEL = "no row has a label: y is missing everywhere"
NUMBERS = ("integer", "boolean", "floating", "mixed-integer-float")


CUT = Spelled("cut them into intervals, as with pd.qcut(y, 3)", "replace them by classes, such as low and high")


@dataclass(frozen=True, eq=False)
class Target:
    """The labels of rows."""

    codes: Array  # Positions in ``classes``, (row,), -1 if missing.
    classes: Array  # The sorted classes of the rows.
    declared: tuple[Any, ...] = ()  # The categories of a categorical type, also those without rows.

    @classmethod
    def of(
        cls, codes: Array, distinct: Array, unlabelled: Any = None, declared: tuple[Any, ...] | None = None,
        name: Any = None,
    ) -> Target:  # fmt: skip
        """Make labels from the distinct values and the code of each row; the value ``unlabelled`` means "no label"."""
        codes = codes.astype(np.intp, copy=False)
        declared = tuple(label for label in declared or () if unlabelled is None or label != unlabelled)
        if unlabelled is not None and any(stands := [label == unlabelled for label in distinct.tolist()]):
            place = np.where(stands, -1, np.cumsum(~np.array(stands)) - 1)
            codes, distinct = _placed(codes, place), distinct[~np.array(stands)]
        if not len(distinct):
            return cls(codes, distinct, declared)
        kind = pd.api.types.infer_dtype(distinct) if distinct.dtype.kind == "O" else ""
        if kind in NUMBERS:
            distinct = np.array(distinct.tolist())
        floats = distinct.dtype.kind == "f" and codes.min() < 0 and np.isfinite(distinct).all()
        if floats and (distinct == np.rint(distinct)).all():
            distinct = distinct.astype(np.int64)  # They are floats only because other labels are missing.
        if distinct.dtype.kind in "SO" and kind != "string":
            _require_one_kind(distinct, codes)
        if distinct.dtype.kind == "f":
            from sklearn.utils import assert_all_finite

            assert_all_finite(distinct, input_name="y")
            if len(fractions := distinct[distinct != np.rint(distinct)]):
                raise RefusedError(
                    "{y} holds continuous numbers, such as {value:g}, and a classifier needs classes: {cure}",
                    y="y" if name is None else f"column {name!r}", value=float(fractions[0]), cure=CUT,
                )  # fmt: skip
        # Text and whole numbers are classes; scikit-learn's slow check would only warn if most of many labels differ.
        nearly_all = len(codes) > 20 and len(distinct) > len(codes) // 2
        if nearly_all or not (distinct.dtype.kind in "biuU" or isinstance(distinct[0], str)):
            from sklearn.utils.multiclass import check_classification_targets

            check_classification_targets(distinct[codes[codes >= 0]] if nearly_all else np.tile(distinct, 2))
        classes, place = np.unique(distinct, return_inverse=True)
        return cls(_placed(codes, place), classes, declared)

    @cached_property
    def labelled(self) -> Array:
        return self.codes >= 0

    @cached_property
    def complete(self) -> bool:
        return self.codes.min(initial=0) >= 0

    def of_rows(self, n: int) -> Target:
        """Return this object if it has ``n`` labels; otherwise raise ``ValueError``."""
        if len(self.codes) != n:
            raise ValueError(f"X has {n} rows and y has {len(self.codes)}")
        return self

    def require_labels(self, why: str) -> None:
        if not self.complete:
            raise ValueError(
                f"y is missing in {int((~self.labelled).sum()):,} of {len(self.codes):,} rows, first in row "
                f"{int(np.flatnonzero(~self.labelled)[0])}: {why}; drop those rows"
            )

    def rows(self, keep: Array) -> Target:
        return Target(*without_unused(self.codes[keep], self.classes), self.declared)

    def or_unknown(self, classes: Array, unknown: Any) -> Target:
        """Replace labels that are not in ``classes`` by the label ``unknown``."""
        known = {*classes.tolist()}
        if unknown is None or known.issuperset(self.classes.tolist()):
            return self
        united = with_named(self.classes, [unknown])
        each = array_of([label if label in known else unknown for label in self.classes.tolist()])
        return Target(*without_unused(_placed(self.codes, _places(united, each)), united), self.declared)

    def among(self, classes: Array) -> Array:
        """The position of each label in ``classes``, (row,), with -1 for missing labels."""
        return _placed(self.codes, _places(classes, self.classes))


def soft_labels(y: Any) -> tuple[Array, Array] | None:
    """Read soft labels (weights of classes), and return the classes and the weights, (row, class); ``None`` for other
    ``y``.
    """
    # Soft labels are a frame with a column per class, or an array whose columns are the classes 0, 1, … Weights are
    # either shares, with a sum of at most 1 per row, or whole counts. If all weights are 0 or 1, each row must have
    # exactly one 1.
    if isinstance(y, pd.DataFrame):
        classes, columns = y.columns.to_numpy(), [y.iloc[:, k] for k in range(y.shape[1])]
    elif isinstance(y, np.ndarray) and y.ndim == 2:
        classes, columns = np.arange(y.shape[1]), [pd.Series(column) for column in y.T]
    elif hasattr(y, "columns"):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(y, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return None
        classes = np.array(frame.columns, object)
        columns = [pd.Series(array_of_arrow(frame[name].to_arrow())) for name in frame.columns]
    else:
        return None
    if len(classes) < 2:
        return None
    twice = pd.Index(classes)[pd.Index(classes).duplicated()]
    if len(twice):
        raise ValueError(
            f"y has two columns named {twice[0]!r}, and each of its columns is the weight of a class: rename one"
        )
    kinds = {pd.api.types.infer_dtype(column, skipna=True) for column in columns}
    if kinds <= {"string", "empty", "categorical", "mixed", "mixed-integer"}:
        return None
    for name, column in zip(classes, columns, strict=True):
        if pd.api.types.infer_dtype(column, skipna=True) not in (*NUMBERS, "decimal", "empty"):
            raise ValueError(
                f"column {name!r} of y holds no numbers, and each of its columns is the weight of a class: write "
                "numbers there, or give the one column that holds the class"
            )
    weights = np.stack([column.to_numpy(float, na_value=np.nan) for column in columns], axis=1)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row, c = np.argwhere(wrong)[0]
        raise ValueError(
            f"y holds {weights[row, c]:g} for class {classes[c]!s} in row {row}, and each of its columns is the weight "
            "of a class: write a number of 0 or more in every cell"
        )
    _require_weights_of_classes(classes, weights)
    return classes, weights


def _require_weights_of_classes(classes: Array, weights: Array) -> None:
    sums = weights.sum(axis=1)
    most, total = sums.max(initial=0), sums.sum()
    flags = bool(((weights == 0) | (weights == 1)).all())
    if not total or (most <= 1 + 1e-9 and not (flags and (sums == 0).any())):
        return
    # Fractions up to 1 may be the shares of a row, whatever their sum; larger ones are measurements.
    counts = not flags and bool((weights == np.rint(weights)).all() or (weights <= 1).all())
    said = (
        f"y has {len(classes)} columns, which are read as the weights of classes: {len(weights):,} rows "
        f"{'count' if counts else 'would count'} as {total:,.10g}. If they are several targets, fit a model of each, "
        "as sklearn.multioutput.MultiOutputClassifier does. If they are counts, write the shares, and the sums as "
        "weights: fit(X, y.div(y.sum(axis=1), axis=0), sample_weight=y.sum(axis=1))"
    )
    if not counts:
        raise ValueError(said)
    warn(said, SeveralTargetsWarning)


class SeveralTargetsWarning(UserWarning):
    """``y`` has several columns of counts, or of shares with a sum above 1. The columns are read as class weights.

    To silence the warning, pass the class shares as ``y`` and the row sums as ``sample_weight``, or call
    ``warnings.simplefilter("ignore", bayesnb.errors.SeveralTargetsWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit({"link": ["yes", "no"]}, pd.DataFrame({"ham": [0, 3], "spam": [2, 1]}))
    >>> print(str(said[0].message).partition(". ")[0])
    y has 2 columns, which are read as the weights of classes: 2 rows count as 6
    """


def read_target(y: Any, unlabelled: Any = None) -> Target:
    """Read labels, (row,) or a table of one column, in which missing values and the value ``unlabelled`` mean "no
    label".
    """
    y = as_objects(in_memory(y))
    if isinstance(y, str):
        raise ValueError(f"Expected y, the class of each row; got {y!r}")
    if isinstance(y, list | tuple) and (_mixed(y) or pd.isna(pd.Series(y, dtype=object)).any()):
        # In an array of strings, NaN would become a class called "nan", and the number 1 a class called "1".
        y = np.array(y, object)
    if isinstance(y, pd.api.extensions.ExtensionArray | pd.Index):
        y = pd.Series(y)
    declares = True
    if not isinstance(y, pd.Series | np.ndarray | list | tuple):
        # Importing narwhals takes long, and the types handled above do not need it.
        import narwhals.stable.v2 as nw

        series = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
        if isinstance(series, nw.DataFrame) and series.shape[1] == 1:
            series = series[:, 0]
        if isinstance(series, nw.Series):
            # Only an Enum declares classes. Arrow's dictionaries and polars' Categorical merely encode the values.
            y, declares = pd.Series(array_of_arrow(series.to_arrow())), isinstance(series.dtype, nw.Enum)
    if isinstance(y, pd.Series):
        y = pd.Series(array_of_arrow(y.array.__arrow_array__())) if isinstance(y.dtype, pd.ArrowDtype) else y
        column = Column("y", y, declares)
        text = column.textual and all(isinstance(c, str) for c in column.declared or ())
        # Nullable integers and booleans would become floats in numpy.
        if text or (not isinstance(y.dtype, np.dtype) and y.dtype.kind in "biu"):
            codes, distinct = column.coded
            return Target.of(*without_unused(codes, array_of(distinct)), unlabelled, column.declared)
        return Target.of(*_coded(y.to_numpy()), unlabelled, column.declared, y.name)
    if not (isinstance(y, np.ndarray) and y.ndim == 1):
        from sklearn.utils import column_or_1d

        y = column_or_1d(y, warn=True)
    return Target.of(*_coded(y), unlabelled)


def _coded(y: Array) -> tuple[Array, Array]:
    """The code of each label, (row,), and the distinct labels."""
    if y.dtype == object and any(kind.__hash__ is None for kind in {*map(type, y)}):
        raise _no_class(next(label for label in y if type(label).__hash__ is None))
    return coded_array(y)


def _no_class(label: Any) -> ValueError:
    return ValueError(
        f"y holds {label!r} of type {type(label).__name__}, and a class is text or a number: turn the labels into "
        "text, as [str(label) for label in y]"
    )


def _mixed(y: Sequence[Any]) -> bool:
    """Whether labels have several types, or are lists of different lengths."""
    return len({*map(type, y)}) > 1 or len({len(each) for each in y if isinstance(each, list | tuple)}) > 1


def array_of(labels: list[Any]) -> Array:
    """Convert distinct labels to an array, of dtype object if some label is text."""
    return np.array(labels, object if any(isinstance(label, str) for label in labels) else None)


def classes_of(*groups: Array) -> Array:
    """The sorted union of arrays of classes, which must be all text or all other values."""
    groups = [group for group in groups if len(group)]
    labels = united_labels(*(group.tolist() for group in groups))
    text, other = (next((label for label in labels if isinstance(label, str) is of), None) for of in (True, False))
    if text is not None and other is not None:
        raise ValueError(
            f"some classes are text, such as {text!r}, and others {type(other).__name__}, such as {other!r}: give all "
            "labels one type, in every part and in every model"
        )
    one_kind = len({group.dtype.kind for group in groups}) == 1
    classes = np.empty(len(labels), np.result_type(*groups) if one_kind else object)
    classes[:] = labels
    return classes


def with_named(classes: Array, names: Iterable[Any]) -> Array:
    """The sorted union of the classes in ``classes`` and ``names``."""
    known = dict.fromkeys(classes.tolist())
    extra = [name for name in dict.fromkeys(names) if name not in known]
    one_type = len({type(name) for name in extra}) == 1
    label = next(iter(known), None)
    odd = [name for name in extra if known and isinstance(name, str) is not isinstance(label, str)]
    if odd:
        raise ValueError(
            f"a prior, unknown= or the type of y names the class {odd[0]!r}, but the labels are "
            f"{type(label).__name__}, such as {label!r}: name classes as the labels are"
        )
    return classes_of(classes, np.array(extra, None if one_type else object)) if extra else classes


def codes_of(classes: Array, y: Array) -> Array:
    """The position of each label of ``y`` in ``classes``."""
    codes, distinct = coded_array(y)
    return _placed(codes, _places(classes, distinct))


def _places(classes: Array, distinct: Array) -> Array:
    place = {label: c for c, label in enumerate(classes.tolist())}
    for label in distinct.tolist():
        if label not in place:
            raise ValueError(f"class {label!r} was never learned; the classes are {some(place)}")
    return np.array([place[label] for label in distinct.tolist()], np.intp)


def _placed(codes: Array, place: Array) -> Array:
    if (place == np.arange(len(place))).all():
        return codes
    return np.append(place, -1).astype(np.intp)[codes]


def _require_one_kind(distinct: Array, codes: Array) -> None:
    first = {type(label): k for k, label in reversed(list(enumerate(distinct.tolist())))}
    for kind, k in sorted(first.items(), key=lambda each: not issubclass(each[0], bytes)):
        if issubclass(kind, str):
            continue
        if issubclass(kind, bytes):
            raise CellError(
                f"y holds {bytes(distinct[k])!r} of type bytes, and a class is text or a number: decode the labels, as "
                "[label.decode() for label in y]"
            )
        if len(first) > 1:
            other = next(distinct[j] for j in first.values() if j != k)
            what = "text" if isinstance(other, str) else type(other).__name__
            raise ValueError(
                f"y holds {what}, such as {other!r}, and {kind.__name__}, such as {distinct[k]!r} in row "
                f"{int(np.flatnonzero(codes == k)[0])}: write all labels in one type, such as y.astype(str)"
            )
        raise _no_class(distinct[k])


def looks_like_no_class(classes: int, rows: float) -> bool:
    """Whether ``y`` has too many distinct values for class labels."""
    return classes > 20 and classes > rows / 10


def few_classes(labels: pd.Series) -> Labels | None:
    """The class codes of the labelled rows; ``None`` if there are fewer than two classes, or too many."""
    codes, classes = pd.factorize(labels)
    codes = codes[codes >= 0]
    return None if len(classes) < 2 or looks_like_no_class(len(classes), len(codes)) else Labels.of(codes, len(classes))
