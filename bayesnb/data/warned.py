"""Warnings about tables to learn from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data import readings
from bayesnb.data.amounts import is_float, unit_of, units_of
from bayesnb.data.columns import Names, all_but, missing_in, one_mark
from bayesnb.data.drawing import cell_keys, few_rows
from bayesnb.data.encoders import Feature
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.data.targets import Target, looks_like_no_class
from bayesnb.data.text import warn_of_most
from bayesnb.model import Statistics
from bayesnb.model.stacks import whole_parts
from bayesnb.numerics import log
from bayesnb.priors import Array
from bayesnb.statistics.moments import Moments
from bayesnb.wording import Cure, Message, Spelled, TableRemark, warn

TEXTS_LOOKED_AT, FEW_TEXTS = 1_000, 10
"""Number of texts searched for shared words; at most the second number may share no words by chance."""


def warn_of_own_words(schema: Schema, statistics: Statistics, table: Table, weight: Array) -> None:
    """Warn if most learned texts share no word with another text; ``weight`` holds the weight of each row."""
    of_texts = {name: f for name, f in schema.features.items() if f.text is not None and f.text.grows}
    if not of_texts:
        return
    some = few_rows(table, TEXTS_LOOKED_AT, 0)
    table, weight = schema.through(table.rows(some)), weight[some]
    for name, feature in of_texts.items():
        if feature.source[0] in table.place:
            column, total = table.column(feature.source[0]), statistics.features[name].counts.sum(0)
            cells = feature.text.read(column, feature.columns, learn=False).counts.tocoo()
            of_others = total[cells.col] > cells.data * weight[cells.row] * (1 + 1e-9)
            shared = np.bincount(cells.row, of_others, table.n_rows) > 0
            warn_of_most(column, shared, "word of another text", FEW_TEXTS)


class IdentifierWarning(TableRemark):
    """A column looks like an identifier or free text. New values of an identifier are uninformative.

    To silence the warning, leave the column out, or name its family, as ``features={column: nb.Categorical()}`` or
    ``"text"``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(X.assign(day=[f"D{k}" for k in range(14)]), y)
    >>> print(said[0].message)
    column 'day' looks like an identifier or free text, 14 levels in 14 rows: leave it out, or name its family, as
    features={'day': nb.Categorical()}, or 'text' for its words
    """


KEY = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|key|index|rownames|row|no|number)\.?$|(nr|nummer)\.?$|(?<=[a-z])(Id|ID)$|"
    r"^unnamed: \d+$"
)
"""Pattern of names of identifier columns."""


def named_as_key(name: Any) -> bool:
    """Whether a column is named like an identifier."""
    return bool(KEY.search(str(name)) or KEY.search(str(name).lower()))


def looks_like_identifier(levels: int, rows: float) -> bool:
    """Whether nearly all nonmissing cells of a column are distinct."""
    return rows > 10 and levels > max(3, 0.8 * rows)


FINEST = 40
"""The dependence is estimated only of this number of columns: those with the fewest pairs of equal cells."""


def log_chance_of_equal_rows(frame: pd.DataFrame, weight: Array | float = 1.0) -> float:
    """The log probability that two rows, drawn in proportion to ``weight``, (row,), are equal in all columns."""
    # The estimate is Π_j p_j Π r_jk over the edges jk of the tree of columns with the largest product (Chow and Liu
    # 1968). p_j is the share of pairs of rows equal in column j, and p_j p_k r_jk that in j and k. So heights in inches
    # and in centimetres count as one column.
    from scipy.sparse.csgraph import minimum_spanning_tree

    codes = [pd.factorize(cells, use_na_sentinel=False)[0] for _, cells in frame.items()]
    weight = np.broadcast_to(weight, len(frame))
    equal = np.array([_log_share_equal(code, weight) for code in codes])
    if np.isneginf(equal).any():
        return -np.inf
    finest = np.argsort(equal)[:FINEST]
    edges = np.zeros((len(finest), len(finest)))
    for (j, one), (k, other) in combinations(enumerate(finest), 2):
        both = _log_share_equal(codes[one] * len(frame) + codes[other], weight)
        edges[j, k] = min(0.0, equal[one] + equal[other] - both)
    return float(equal.sum() - minimum_spanning_tree(edges).sum())


def _log_share_equal(code: Array, weight: Array) -> float:
    place = np.unique_inverse(code).inverse_indices
    pairs = np.bincount(place, weight) ** 2 - np.bincount(place, weight**2)  # 0 for a value of one row, exactly.
    return float(log(pairs.sum() / max(weight.sum() ** 2 - (weight**2).sum(), 1)))


BY_CHANCE = 0.05
"""Copies of rows are improbable if chance explains less than this share of the copies."""


INFLATED = 1.5
"""The largest mean of weights with fractions that do not count copies; weights that balance classes have a mean of 1.

Above a mean of 2, the leave-one-out log loss of a learned dependence is far below its log loss on new rows.
"""


def copies_by_weight(table: Table, weight: Array, codes: Array | None = None) -> Message | None:
    """A sentence about weights that, as counts of equal rows, imply more equal rows than chance explains."""
    n, total, pairs = len(weight), weight.sum(), (weight * (weight - 1)).sum()
    if n < 2 or table.sparse or not total > n or ((weight % 1 != 0).any() and total <= INFLATED * n):
        return None
    cells = [cell_keys(table.column(name)) for name in table.names]
    # ``codes`` holds the class codes of the rows, if the classes are not a column of the table.
    columns = [np.where(known, keys, 0) for known, keys in cells] + ([] if codes is None else [codes])
    frame, some = pd.DataFrame(dict(enumerate(columns))), few_rows(table, 5_000, 0)
    chance = np.exp(log_chance_of_equal_rows(frame.iloc[some], weight[some]))
    # If no two of the n rows are equal, the chance may still be that of one equal pair.
    expected = total * (total - 1) * max(chance, 2 / (n * (n - 1)))
    # The columns may depend on each other in more ways than the chance considers, so more than half of the values of at
    # least one column must be different.
    if expected > BY_CHANCE * pairs or 2 * int(frame.nunique().max()) <= n:
        return None
    return Message(
        "counts {rows:,} rows as {times:,.0f}, as if equal rows were common. Scores and {auto} hold out a weight of 1 "
        "of a row and learn the rest of its weight, so scores are too good, and predictions too certain: unless the "
        "weights count different cases with equal cells, divide them by their mean",
        rows=n, times=total, auto=Cure("dependence", "auto"),
    )  # fmt: skip


def _of_levels(schema: Schema, statistics: Statistics) -> Iterator[tuple[Message, type[TableRemark]]]:
    for name, feature in schema.features.items():
        kind, counts = feature.origin.kind, statistics.features[name].counts.sum(0) if feature.values else ()
        for (column, levels), of_levels in zip(feature.values.items(), counts, strict=True):
            seen, rows = int((of_levels > 0).sum()), float(of_levels.sum())
            several = kind == "text" and len(counts) == 1 and len(levels) >= FEWEST_LEVELS
            identifying = looks_like_identifier(seen, rows)
            # A few numbers with decimal points may be codes, such as 250.01, and no warning is given.
            plain = several and not identifying and all(map(is_float, levels))
            money = several and not plain and readings.amounts_in(levels, identifying)
            if several and not plain and (numbers := money or readings.written_as_text(levels)):
                what = "numbers written as text, such as {value!r}"
                if money:
                    plain = any(not unit_of(str(level)) for level in levels)
                    what = "amounts, some in {unit} and some without a unit" if plain else "numbers with {unit!r}"
                said = "column {column!r}: its {k:,} levels are " + what + ": read them as numbers with {cure}"
                cures = tuple(Cure("features", number.spelled, column) for number in numbers)
                unit = numbers[0].unit
                said = Message(said, column=column, k=len(levels), value=levels[0], unit=unit, cure=cures)
                yield said, NumbersAsLevelsWarning
            elif several and (odd := readings.no_numbers_in(levels)):
                if len(units := units_of(odd)) > 1:
                    said = "column {column!r}: numbers in several units ({units}), read as levels: convert them to one "
                    said += "unit"
                    shown = ", ".join(unit or "no unit" for unit in sorted(units))
                    yield Message(said, column=column, units=shown), NumbersAsLevelsWarning
                    continue
                said = "column {column!r}: most of its {k:,} levels are numbers, and some are not, such as {odd!r}, so "
                said += "all are read as levels: {cure}"
                cure: Any = Spelled("nb.inspect(X, y) names the remedy", "inspect names the remedy")
                if mark := one_mark(column, odd):
                    cure = mark
                elif all(is_float(level) for level in levels if level not in odd):
                    cure = Message("if it means missing, {na}", na=missing_in(column, odd[0]))
                yield Message(said, column=column, k=len(levels), odd=odd[0], cure=cure), NumbersAsLevelsWarning
            elif (
                several
                and (nearly := readings.nearly_recognised([*map(str, levels)]))
                and isinstance(nearly[0], readings.Date)
            ):
                said = all_but(nearly[0].said, column, nearly[1])
                yield Message("column {column!r}: {said}", column=column, said=said), NumbersAsLevelsWarning
            elif identifying and kind != "specified":
                said = "column {column!r} looks like an identifier or free text, {levels:,} levels in {among}: leave "
                said += "it out, or name its family, as {cure}, or 'text' for its words"
                counted = rows >= seen and rows.is_integer()
                among = f"{rows:,.10g} rows" if counted else f"rows of weight {rows:,.10g}"
                cure = Cure("features", "Categorical", column)
                yield Message(said, column=column, levels=seen, among=among, cure=cure), IdentifierWarning


def _numbered(table: Table, schema: Schema) -> Iterator[tuple[Message, type[TableRemark]]]:
    numbers = (f for f in schema.features.values() if not (f.values or f.source or f.origin.kind == "specified"))
    keys = [column for feature in numbers for column in feature.columns if schema.named and named_as_key(column)]
    table = schema.through(table) if keys else table
    for column in keys:
        x = table.column(column).reals()
        x = x[~np.isnan(x)]
        if len(x) > 10 and (x == np.floor(x)).all() and len(np.unique(x)) == len(x):
            said = "column {column!r} looks like an identifier, {rows:,} whole numbers in {rows:,} rows: leave it out, "
            said += "or name its family, as {cure}"
            cure = Cure("features", "Gaussian", column)
            yield Message(said, column=column, rows=len(x), cure=cure), IdentifierWarning


class NumbersAsLevelsWarning(TableRemark):
    """A column of numbers or dates also holds other text, so every number or date is read as a level.

    To silence the warning, specify the column, as ``features={column: nb.Categorical()}``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X = {"pct": [f"{k % 30 / 4 + 0.1:.2f}" for k in range(60)] + ["not done"] * 4}
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(X, ["a", "b"] * 32)
    >>> print(said[0].message)
    column 'pct': most of its 31 levels are numbers, and some are not, such as 'not done', so all are read as levels: if
    it means missing, write X['pct'] = pd.to_numeric(X['pct'], errors='coerce')
    """


FEWEST_LEVELS = 20
"""Least number of levels of a reported column of numbers and other texts."""


class ManyClassesWarning(TableRemark):
    """``y`` has too many distinct values for class labels, and may hold numbers or identifiers.

    To silence the warning: ``warnings.simplefilter("ignore", bayesnb.errors.ManyClassesWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(X[["island"]], X["body_mass_g"].fillna(4000.0))
    >>> print(said[0].message)
    y has 94 classes in 344 rows, as if it were a number: cut it into classes, as with pandas.qcut, or use a regression
    """


class TargetColumnWarning(TableRemark):
    """A column of the table equals ``y`` in every row.

    To silence the warning: ``warnings.simplefilter("ignore", bayesnb.errors.TargetColumnWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(X.assign(species=y), y)
    >>> print(said[0].message)
    column 'species' equals y in all rows: leave it out, because the class of new rows is not known
    """


FIRST = 16
"""Number of rows in which columns are first compared with the labels."""


def warn_of_target(table: Table, target: Target, soft: bool) -> None:
    """Warn of columns that equal the labels, and of classes that are blank or have no rows."""
    seen = target.classes.tolist()
    if blank := [label for label in seen if isinstance(label, str) and not label.strip()]:
        warn(f"{blank[0]!r} is a class of y: write None for rows without a label")
    if not soft and (empty := [label for label in target.declared if label not in seen]):
        warn(
            f"the type of y declares class {empty[0]!r}, which has no rows, and it gets a small probability: write "
            "y.cat.remove_unused_categories() if no row can have this class"
        )
    # Of k columns that equal y with probability 0.7 in each row, one equals it in n rows with probability k 0.7ⁿ.
    if table.sparse or len(target.classes) < 2 or not target.complete or len(table.names) * 0.7**table.n_rows > 0.001:
        return
    labels, names = target.classes[target.codes[:FIRST]], table.names
    if table.numeric and labels.dtype.kind in "biuf":
        names = [names[k] for k in np.flatnonzero((table.source[:FIRST] == labels[:, None]).all(axis=0))]
    for name in names:
        cells = table.column(name).values
        if all(cell is not pd.NA and cell == label for cell, label in zip(cells[:FIRST], labels, strict=True)) and (
            np.array_equal(np.asarray(cells, object), target.classes[target.codes].astype(object))
        ):
            said = "column {column!r} equals y in all rows: leave it out, because the class of new rows is not known"
            warn(Message(said, column=name), TargetColumnWarning)


class ClassSpellingsWarning(TableRemark):
    """Two classes differ only by case or blanks.

    To silence the warning: ``warnings.simplefilter("ignore", bayesnb.errors.ClassSpellingsWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit({"age": [3, 5, 70]}, ["low", "low ", "high"])
    >>> print(said[0].message)
    the classes 'low', 'low ' differ only by case or blanks: correct them in y, as with
    pd.Series(y).str.strip().str.lower()
    """


IN_CLASS = Spelled("y", "the table, because joined is for other columns; until then, each spelling is a class")


def spelled_apart(classes: Iterable[Any]) -> list[Message]:
    """Sentences about classes that differ only by case or blanks, one for each of the first three groups."""
    texts = [label for label in classes if isinstance(label, str)]
    groups = readings.by_spelling(texts).values() if len(texts) <= readings.MOST_SPELLED else ()
    alike = [group for group in groups if len(group) > 1]
    y = Spelled("y, as with pd.Series(y).str.strip().str.lower()", IN_CLASS.command)
    said = "the classes {alike} differ only by case or blanks: correct them in {y}"
    return [Message(said, alike=", ".join(map(repr, own)), y=y) for own in alike[:3]]


class UnlabelledRowsWarning(UserWarning):
    """Rows without a label were learned by EM.

    To silence the warning, set ``BayesianNB(unlabelled=Unlabelled())``, or drop the rows.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(X, y.where(y.index > 40))
    >>> print(said[0].message)
    y is missing in 41 of 344 rows, which are learned by EM: drop them if they should not count, or set
    unlabelled=nb.Unlabelled() if they should
    """


FEW = 10
"""With at most this number of rows, columns may look encoded by chance."""

CLOSE = 1e-6
"""Tolerance in comparing sums of frequencies with 1, means with 0, and variances with 1."""


class EncodedColumnsWarning(UserWarning):
    """Some columns seem to be the output of an encoder or a scaler. Fit the original, untransformed table.

    Codes of an ordinal encoder are read as measurements. One-hot columns are not independent given the class. If
    columns are standardised, tables of parameters and explanations show standard deviations instead of units.

    To silence the warning, name the family of the columns, or call ``warnings.simplefilter("ignore",
    bayesnb.errors.EncodedColumnsWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(pd.get_dummies(X[["outlook"]]), y)
    >>> print(said[0].message)
    of the columns 'outlook_overcast', 'outlook_rain', 'outlook_sunny' exactly one is 1 in each row, as if an encoder
    had made them of one column, and its evidence counts several times: fit the table as it was before; text and numbers
    are read as they are
    """


def _warn_of_encoders(table: Table, schema: Schema, statistics: Statistics) -> None:
    names, n, mean, scatter = _numbers_of(schema, statistics)
    if not names or statistics.rows.sum() <= FEW:
        return
    said = []
    if groups := [run for run in _runs(names, mean[statistics.rows > 0]) if _one_hot(schema.through(table), run)]:
        first, others = _shown(groups[0]), f" (further groups: {len(groups) - 1})" if len(groups) > 1 else ""
        said.append(
            f"of the columns {first} exactly one is 1 in each row{others}, as if an encoder had made them of one "
            "column, and its evidence counts several times"
        )
    # Check the law of total variance for all columns at once.
    total = np.maximum(n.sum(0), np.finfo(float).tiny)
    centre = (n * mean).sum(0) / total
    variance = (scatter + n * (mean - centre) ** 2).sum(0) / total
    scaled = [names[k] for k in np.flatnonzero((np.abs(centre) < CLOSE) & (np.abs(variance - 1) < CLOSE))]
    if scaled:
        said.append(
            f"{len(scaled)} {'columns' if len(scaled) > 1 else 'column'} ({_shown(scaled)}) "
            f"{'have' if len(scaled) > 1 else 'has'} mean 0 and variance 1, as if a scaler had made them, which "
            "changes no probability and hides their unit"
        )
    if len(names) == len(schema.names) and _codes(table.source, names):
        said.append(
            f"every column ({_shown(names)}) holds all numbers from 0 to its maximum as floats, as if an ordinal "
            "encoder had made them, and codes are read as measurements"
        )
    if said:
        cure = "fit the table as it was before; text and numbers are read as they are"
        warn(f"{'; '.join(said)}: {cure}", EncodedColumnsWarning)


def _numbers_of(schema: Schema, statistics: Statistics) -> tuple[list[Any], Array, Array, Array]:
    found: dict[Any, Sequence[Array]] = {}
    for names, s in whole_parts(statistics.features):
        features: list[Feature] = [schema.features[name] for name in names]
        moments = s if isinstance(s, Moments) else s.converted(Moments)
        if moments is None and features[0].origin.kind == "sparse":  # In a sparse matrix no value is missing.
            rows = np.broadcast_to(statistics.rows[:, None], s.counts.shape)
            mean = s.counts / np.maximum(rows, np.finfo(float).tiny)
            return list(features[0].columns), rows, mean, np.full(rows.shape, np.inf)
        if moments is not None:
            columns = ((column, f.origin.inferred and not f.source) for f in features for column in f.columns)
            each = zip(columns, moments.n.T, moments.mean.T, moments.scatter.T, strict=True)
            found |= {column: numbers for (column, inferred), *numbers in each if inferred}
    if not found:
        return [], *np.zeros((3, len(statistics.rows), 0))
    names = [name for name in schema.names if name in found]
    return names, *np.moveaxis(np.array([found[name] for name in names]), (0, 1), (2, 0))


def _codes(X: Any, names: Sequence[Any]) -> bool:
    """Whether all columns look like ordinal codes: floats that take every whole value from 0 to the maximum."""
    if isinstance(X, pd.DataFrame):
        if not all(isinstance(dtype, np.dtype) and dtype.kind == "f" for dtype in X.dtypes):
            return False
        X = X.to_numpy()
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and X.shape[1] == len(names) > 1):
        return False
    # The first rows exclude most tables.
    for x in (X[:64], X):
        if not ((x == np.floor(x)) & (x >= 0) & (x < len(X))).all():
            return False
    highest = X.max(axis=0)
    return bool(highest.max() > 1) and all(
        len(np.unique(column)) == high + 1 for column, high in zip(X.T, highest, strict=True)
    )


def _runs(names: Sequence[Any], means: Array) -> Iterator[Names]:
    """Yield groups of adjacent columns whose means in each class add up to 1; ``means`` is (class, column)."""
    sums = np.concatenate([np.zeros((len(means), 1)), np.cumsum(means, axis=1)], axis=1).T
    ends, starts = (map(tuple, np.round(total / CLOSE).tolist()) for total in (sums, sums - 1))
    place: dict[tuple[float, ...], int] = {}
    for k, (end, before) in enumerate(zip(ends, starts, strict=True)):
        start = place.get(before)
        if start is not None and k - start > 1:
            yield tuple(names[start:k])
        place[end] = k


def _one_hot(table: Table, names: Names) -> bool:
    x = table.block(names).toarray() if table.sparse else table.reals(names)
    return bool(((x == 0) | (x == 1)).all() and (x.sum(axis=1) == 1).all())


TELLING = 0.5
"""Missing cells are reported as evidence if their fractions in two classes differ by more than this number."""


def telling_gaps(schema: Schema, statistics: Statistics) -> Iterator[tuple[Any, str]]:
    """Yield columns whose fraction of missing cells differs greatly between classes, and these fractions as text."""
    rows = statistics.rows
    known = np.flatnonzero(rows >= 10)
    # A gap is a gap in all feature columns of its column, and `Missing` flags it in the first.
    further = {each for name, own in schema.readings.items() for each in own.names(name)[1:]}
    for name, feature in schema.features.items() if len(known) > 1 else ():
        if feature.source or feature.text is not None:
            continue
        gone = 1 - statistics.features[name].seen()[known] / rows[known, None]
        if gone.shape[1] != len(feature.named):
            continue
        for k in np.flatnonzero(np.ptp(gone, axis=0) > TELLING):
            low, high = int(gone[:, k].argmin()), int(gone[:, k].argmax())
            if feature.named[k] not in {*schema.flags, *further}:
                one, other = (f"{gone[c, k]:.0%} of {{}} {statistics.labels[known[c]]!r}" for c in (low, high))
                yield feature.named[k], f"{one.format('the rows of class')} and {other.format('class')}"


def warn_of_telling_gaps(schema: Schema, statistics: Statistics) -> None:
    """Warn of missing cells that a ``dependence`` treats as evidence for a class."""
    for feature, shares in telling_gaps(schema, statistics):
        name = schema.owner.get(feature, feature)
        said = (
            "column {name!r} is missing in {shares}, so the dependence learns that a gap is evidence: if cells of new "
        )
        said += "rows are not missing for the same reasons, {drop}; otherwise, {cure}"
        drop, cure = Cure("drop", column=name), Cure("features", "Missing", name)
        warn(Message(said, name=name, shares=shares, drop=drop, cure=cure))


def warn_of_table(schema: Schema, statistics: Statistics, classes: Array, table: Table | None) -> None:
    """Warn of columns and labels that were probably misread."""
    # There is no ``table`` if it was read in parts.
    for said, kind in (*_of_levels(schema, statistics), *(() if table is None else _numbered(table, schema))):
        warn(said, kind)
    k, rows = len(classes), float(statistics.rows.sum())
    if said := spelled_apart(classes.tolist()):
        warn(said[0], ClassSpellingsWarning)
    # If the number of classes exceeds half the number of rows, scikit-learn has already warned.
    if looks_like_no_class(k, rows) and k <= rows / 2:
        like = "an identifier: name the column that holds the class"
        if classes.dtype.kind in "iuf":
            like = "a number: cut it into classes, as with pandas.qcut, or use a regression"
        warn(f"y has {k:,} classes in {rows:,.10g} rows, as if it were {like}", ManyClassesWarning)
    if table is not None:
        _warn_of_encoders(table, schema, statistics)


def _shown(names: Sequence[Any]) -> str:
    return ", ".join([*map(repr, names[:3]), *(["…"] if len(names) > 3 else [])])
