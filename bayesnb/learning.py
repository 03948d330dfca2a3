"""Functions that make a classifier from rows and, optionally, from an earlier classifier, ``before``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb import em
from bayesnb.data import engines, growing, new_rows, warned
from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import EstimatorParameters, Unlabelled
from bayesnb.data.summary import Summary
from bayesnb.data.tables import in_memory, streams
from bayesnb.data.targets import NO_LABEL, with_named
from bayesnb.dependence import learning as dependent
from bayesnb.dependence.columns import nothing
from bayesnb.inference.believed import require_prior
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.marks import read_with_other_marks
from bayesnb.learned import Learned, believed, counts_alike, counts_of
from bayesnb.model import estimate_rule
from bayesnb.wording import Cure, Message, RefusedError, TableRemark, refuse, warn


def fitted(settings: EstimatorParameters, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
    """Return the classifier fitted to one table, and warn of columns or labels that were probably misread."""
    X = _beside(X, y, sample_weight)
    require_dependence(settings)
    if in_parts := streams(X):
        learned, rows, others = *_of_parts(settings, X, y, sample_weight), {"target": y}
    else:
        learned, rows, others = _of_rows(settings, X, y, sample_weight)
    made = believed(settings, None, learned, **others)
    if settings.dependence is not None:
        made = _with_exponents(settings, made, rows)
    if not in_parts and made.em is None:
        warned.warn_of_own_words(learned.schema, learned.statistics, rows.table, rows.weight)
    soft = len(getattr(y, "shape", ())) > 1  # A row is then repeated for each of its classes.
    table = None if in_parts else learned.schema.table_of(X) if soft else rows.table
    warned.warn_of_table(learned.schema, learned.statistics, made.classes, table)
    if not in_parts:
        warned.warn_of_target(rows.table, rows.target, soft)
    return made


def _of_rows(
    settings: EstimatorParameters, X: Any, y: Any, sample_weight: Any
) -> tuple[Learned, TrainingRows, dict[str, Any]]:
    """Learn from a table in memory; return the ``Learned`` object, the rows, and values of other classifier fields."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    others = {"target": name if isinstance(name, str | int) and name != "" else None}
    unlabelled = Unlabelled.of(settings.unlabelled)
    rows = TrainingRows.of(X, y, sample_weight, unlabelled.marker, soft=True)
    if not rows.target.complete:
        rows = rows.weighing_unlabelled(unlabelled.weight)
        if not rows.weight.any():
            raise ValueError(NO_LABEL)
    rows = rows.counted()
    if rows.target.complete:
        return Learned.of(settings, None, rows), rows, others
    if settings.dependence is not None:
        raise RefusedError(
            "some rows have no label, and exponents are learned from labels that are known; fit the labelled rows "
            "alone, or use {cure}",
            cure=Cure("dependence"),
        )
    if settings.unknown is not None:
        raise RefusedError(
            "some rows have no label, and EM would count them as rows of the class of {unknown}, which has none; "
            "leave them out with {cure}",
            unknown=Cure("unknown", settings.label_prior.unknown),
            cure=Cure("unlabelled", Unlabelled(weight=0)),
        )
    if settings.unlabelled is None and len(rows.target.classes):
        warn(
            f"y is missing in {int((~rows.target.labelled).sum()):,} of {rows.table.n_rows:,} rows, which are learned "
            "by EM: drop them if they should not count, or set unlabelled=nb.Unlabelled() if they should",
            warned.UnlabelledRowsWarning,
        )
    learned, em_result = _by_em(settings, rows)
    return learned, rows, others | {"em": em_result, "expected": True}


def _of_parts(settings: EstimatorParameters, X: Any, y: Any, sample_weight: Any) -> tuple[Learned, TrainingRows | None]:
    """Learn from a table that is read in parts; also return sampled rows, for learning the powers of likelihoods."""
    _require_names(y, sample_weight)
    if settings.dependence is None:
        return Learned.of(settings, None, engines.summary(settings, X, y, sample_weight)), None
    spec = dependent.named(settings.dependence)
    summary, rows = engines.summary_and_sample(settings, X, y, sample_weight, spec.rows, spec.random_seed)
    if rows is None:
        raise ValueError(f"none of {spec.rows} drawn rows has a class; draw more, with nb.Exponents(rows=...)")
    return Learned.of(settings, None, summary), rows


def _by_em(settings: EstimatorParameters, rows: TrainingRows) -> tuple[Learned, em.EM]:
    schema, data = rows.read(settings)
    rule, model, seen = estimate_rule(settings.estimate), schema.model(settings.label_prior), rows.target.classes
    classes = with_named(seen, [*rows.target.declared, *model.named_classes(seen.tolist())])
    if not len(seen) and len(classes) < 2:
        raise ValueError(f"{NO_LABEL}; label some rows, or give a feature priors that differ, as {{class: prior}}")
    labelled, data, weight = rows.split(model, data, classes)
    result = em.em(
        model.flat() if rule.flat else model, labelled, data, len(weight), row_weight=weight, at=rule.point,
        starts=Unlabelled.of(settings.unlabelled).starts, rng=np.random.default_rng(settings.random_state),
    )  # fmt: skip
    return Learned(schema, result.statistics, classes, rows.target.declared, nothing(len(classes))), result


def with_rows(
    settings: EstimatorParameters, before: Classifier | None, X: Any, y: Any, classes: Any = None,
    sample_weight: Any = None,
) -> Classifier:  # fmt: skip
    """Learn further rows."""
    from sklearn.utils import column_or_1d

    X, named = _beside(X, y, sample_weight), () if classes is None else column_or_1d(classes).tolist()
    require_dependence(settings)
    # The exponents (powers of likelihoods) of an earlier classifier do not change.
    if before is not None:
        known, far = {*before.classes.tolist()}, new_rows.FarCounter(before.schema, before.statistics)
        for part in _parts(settings, before, X, y, sample_weight):
            learned = Learned.of(settings, before, part).naming(named)
            if not streams(X):  # A stream may be summed by an engine that returns no rows.
                # The numbers of a new class may be anywhere.
                of_known = np.array([label in known for label in part.target.classes.tolist()])
                far.count(part.table.rows(of_known[part.target.codes]))
            before = believed(settings, before, Learned.by(settings, before) + learned)
        for sentence in far.sentences():
            warn(sentence)
        if len(before.classes) > len(known) and (said := warned.spelled_apart(before.classes.tolist())):
            warn(said[0], warned.ClassSpellingsWarning)
        dependence, total = before.dependence, before.statistics.rows.sum()
        if dependence and not dependence.spec.forests and dependence.weight < min(total / 2, dependence.spec.rows):
            warn(
                f"the exponents were learned from {dependence.weight:,.10g} of {total:,.10g} rows: "
                "learn_exponents(X, y) learns them again"
            )
        return before
    if streams(X):
        learned, rows = _of_parts(settings, X, y, sample_weight)
        made = believed(settings, None, learned.naming(named), target=y)
    else:
        rows = labelled_rows(settings, X, y, sample_weight, None)
        made = believed(settings, None, Learned.of(settings, None, rows).naming(named))
    return made if settings.dependence is None else _with_exponents(settings, made, rows)


def _parts(
    settings: EstimatorParameters, before: Classifier, X: Any, y: Any, sample_weight: Any
) -> Iterator[TrainingRows | Summary]:
    """Yield the rows to learn, in parts for a large table, or only their summary if no single rows are needed."""
    schema = before.schema.under(settings.columns)
    if not streams(X):
        yield labelled_rows(settings, X, y, sample_weight, schema)
        return
    _require_names(y, sample_weight)
    if counts_of(settings, before).cells.empty:
        yield engines.summary(settings, schema.source(X), y, sample_weight, schema)
    else:
        yield from engines.rows(settings, schema.source(X), y, sample_weight, schema)


def labelled_rows(
    settings: EstimatorParameters, X: Any, y: Any, sample_weight: Any, schema: Schema | None
) -> TrainingRows:
    """Return the rows to learn; raise an error if a row has no label."""
    rows = TrainingRows.of(X, y, sample_weight, Unlabelled.of(settings.unlabelled).marker, schema, soft=True)
    return rows.labelled().counted()


def without_rows(
    settings: EstimatorParameters, before: Classifier, X: Any, y: Any, sample_weight: Any = None
) -> Classifier:
    """Remove learned rows, and the classes that then have no rows, except classes named by the user."""
    before.require_counted("forget is exact for rows that were counted")
    for part in _parts(settings, before, _beside(X, y, sample_weight), y, sample_weight):
        before = _less(settings, before, part)
    return before


def _less(settings: EstimatorParameters, before: Classifier, part: TrainingRows | Summary) -> Classifier:
    learned, named = Learned.by(settings, before), before.named_classes
    labels, rows, counted = learned.classes.tolist(), learned.statistics.rows, learned.counts.rows.counts.sum()
    if not learned.counts.cells.empty and counted < rows.sum() * (1 - 1e-9):
        raise RefusedError(
            "the dependence was learned from the cells of columns in {counted:,.0f} of {rows:,.0f} rows, and which "
            "rows these are is not kept, so none can be forgotten: fit again without the rows, or with {cure}, which "
            "counts no cells and forgets any row",
            counted=counted, rows=rows.sum(), cure=Cure("dependence", "tempered"),
        )  # fmt: skip
    rest = learned.without(Learned.of(settings, before, part))
    stays = (rest.statistics.rows > 0) | (rows == 0) | [label in named for label in labels]
    if not stays.any():
        raise ValueError(
            f"these are all rows of all classes, {list(labels)}, and a classifier needs a class: name the classes "
            "that are to stay, with partial_fit(..., classes=[...]) or class_prior={label: probability}"
        )
    return believed(settings, before, rest.over(learned.classes[stays]))


def merged(settings: EstimatorParameters, before: Classifier, other: Classifier, keep: bool = False) -> Classifier:
    """Merge two classifiers."""
    # If they count rows for different pairs of columns or intervals, ``keep`` keeps the counts of ``before``;
    # otherwise, there is an error.
    errors: list[BaseException] = [*read_with_other_marks(before, other)]
    mine, theirs = (Learned.by(settings, each) for each in (before, other))
    mine = replace(mine, schema=before.schema.under(settings.columns))
    mine, theirs = mine.spelled_as(theirs), theirs.spelled_as(mine)
    errors += growing.read_differently(mine.schema, theirs.schema)
    named = [label for label in other.named_classes if label != other.unknown]
    warned_of = [*new_rows.unlike_numbers(*((each.schema, each.statistics) for each in (mine, theirs)))]
    try:
        mine, theirs = mine.alike(theirs)
        theirs = replace(theirs, schema=growing.merged(mine.schema, theirs.schema), declared=tuple(named))
    except RefusedError as error:
        errors.append(error)
    refuse(errors)
    for sentence in warned_of:
        warn(sentence)
    if mine.counts.cells.empty or (keep and not counts_alike(settings, before, other)):
        theirs = replace(theirs, counts=mine.counts.of_classes(len(theirs.classes)))
    elif theirs.counts.cells.empty:
        raise RefusedError(
            "the other model has counted no cells of shapes and pairs; fit it with the same dependence, or use {cure}, "
            "merge, and learn_exponents(X, y) from a sample of all rows",
            cure=Cure("dependence"),
        )
    both = before.reading.keys() | other.reading.keys()
    reading = {
        name: (*dict.fromkeys(m for each in (before, other) for m in each.reading.get(name, ())),) for name in both
    }
    kept = {"expected": before.expected or other.expected, "reading": reading}
    return believed(settings, before, mine + theirs, **kept)


def discounted(settings: EstimatorParameters, before: Classifier, factor: float) -> Classifier:
    """Multiply all row weights by a factor."""
    if not 0 <= factor <= 1:
        raise ValueError(f"Expected a factor between 0 and 1; got {factor!r}")
    return believed(settings, before, Learned.by(settings, before) * factor)


def with_exponents(
    settings: EstimatorParameters, before: Classifier, X: Any, y: Any, sample_weight: Any = None
) -> Classifier:
    """Learn the exponents again, from all learned rows or a sample."""
    require_dependence(settings)
    if settings.dependence is None:
        raise ValueError('dependence=None has no exponents: set_params(dependence="weighted") first')
    X = in_memory(X)
    if streams(X):
        raise TypeError("exponents are learned from rows in memory: pass a sample of the rows as one table")
    before.require_counted("exponents are learned from labels that are known")
    before.posterior.require_statistics()
    rows = labelled_rows(settings, X, y, sample_weight, before.schema)
    try:
        before.statistics.without(rows.statistics(settings, before.schema.under(settings.columns), fixed=True)[1])
    except ValueError as error:
        raise RefusedError(
            "exponents are learned from rows that the model has learned, each left out in turn, and some of these were "
            "not: {error}",
            error=error,
        ) from error
    return _with_exponents(settings, before, rows)


def as_advised(before: Classifier, advice: str | None, X: Any, y: Any) -> Classifier:
    """Add the dependence that the audit recommends, ``advice``, to a classifier."""
    if advice is None:
        return before
    settings = EstimatorParameters(dependence=advice, columns=before.schema.columns)
    return with_exponents(settings, before.with_estimate("predictive"), X, y)


def _with_exponents(settings: EstimatorParameters, learned: Classifier, rows: TrainingRows) -> Classifier:
    about = learned.posterior, *learned.encoded(rows), settings.dependence, learned.dependence
    found = dependent.learn(*about)
    if found.statistics.cells.gaps_tell:
        warned.warn_of_telling_gaps(learned.schema, learned.statistics)
    if not found.statistics.cells.empty and (
        said := warned.copies_by_weight(rows.table, rows.weight, rows.target.codes)
    ):
        warn(Message("sample_weight {said}", said=said), TableRemark)
    return learned.with_dependence(found)


def require_dependence(settings: EstimatorParameters) -> None:
    """Raise an error if the settings do not allow the ``dependence``."""
    if settings.dependence is not None:
        dependent.named(settings.dependence)
        require_prior(settings.estimate)
        if settings.unknown is not None:
            raise RefusedError(
                "exponents are learned from labels, and no row has a label of the class of {unknown}; use {cure}",
                unknown=Cure("unknown", settings.label_prior.unknown),
                cure=Cure("dependence"),
            )


def _beside(X: Any, y: Any, sample_weight: Any) -> Any:
    return X if isinstance(y, str | int | None) and isinstance(sample_weight, str | int | None) else in_memory(X)


def _require_names(y: Any, sample_weight: Any) -> None:
    for what, name in (("y", y), ("sample_weight", sample_weight)):
        if not isinstance(name, str | int | None) or (what == "y" and name is None):
            raise TypeError(
                f"X is no 2-dimensional table in memory, but read in parts, so {what} is the name of one of its "
                f"columns; got {name!r}"
            )
