"""Everything learned from rows, and the resulting classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bayesnb.data.alike import alike
from bayesnb.data.growing import respelled, without_unused
from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import EstimatorParameters
from bayesnb.data.summary import Summary
from bayesnb.data.targets import classes_of, with_named
from bayesnb.dependence.columns import DependenceStatistics, nothing
from bayesnb.dependence.exponents import require_exact
from bayesnb.families.sampled import Draws
from bayesnb.inference.believed import Believed
from bayesnb.inference.classifier import Classifier
from bayesnb.model import DrawnPosterior, Statistics
from bayesnb.modelfile import document
from bayesnb.modelfile.container import ModelFileError
from bayesnb.priors import Array
from bayesnb.priors.class_prior import WithUnknown
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Cure, RefusedError, require_choice


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything learned from some rows."""

    # ``a + b`` joins the rows of two tables; ``a * 0.9`` multiplies row weights.
    schema: Schema
    statistics: Statistics
    classes: Array  # also classes whose rows were all forgotten
    declared: tuple[Any, ...]  # classes that exist even without rows
    counts: DependenceStatistics  # empty without a dependence

    @classmethod
    def by(cls, settings: EstimatorParameters, model: Classifier) -> Learned:
        """Return everything a classifier has learned; raise an error if its posterior consists of draws."""
        model.posterior.require_statistics()
        found = cls(model.schema, model.statistics, model.classes, model.declared, counts_of(settings, model))
        known = [label != model.unknown for label in model.classes.tolist()]
        return found if all(known) else found.over(model.classes[known])

    @classmethod
    def of(cls, settings: EstimatorParameters, before: Classifier | None, part: TrainingRows | Summary) -> Learned:
        """Learn from one part of a table, with the schema and bin edges of the classifier ``before``, if given."""
        classes = part.classes if isinstance(part, Summary) else part.target.classes
        schema, counts, held = None, nothing(len(classes)), False
        if before is not None:
            schema, counts = before.schema.under(settings.columns), counts_of(settings, before).of_classes(len(classes))
            held = before.dependence is not None and settings.dependence is not None
        if isinstance(part, Summary):
            return cls(part.schema, part.statistics, classes, part.named, counts)
        schema, statistics = part.statistics(settings, schema, held)
        if held and not counts.cells.empty:
            _, data = schema.read(schema.through(part.table))
            labels = Labels(part.target.codes, part.weight, len(classes))
            counts = counts.cells.statistics(before.posterior, data, labels)
        return cls(schema, statistics, classes, part.target.declared, counts)

    def naming(self, classes: tuple[Any, ...]) -> Learned:
        """Declare further classes, which may have no rows."""
        return replace(self, declared=(*self.declared, *classes))

    def __add__(self, other: Learned) -> Learned:
        classes = classes_of(self.classes, other.classes)
        a, b = self.over(classes).alike(other.over(classes))
        statistics = a.statistics.widened(b.statistics) + b.statistics.widened(a.statistics)
        # The schema of the second part grew from that of the first, so it covers both.
        return Learned(b.schema, statistics, classes, (*a.declared, *b.declared), a.counts + b.counts)

    def spelled_as(self, other: Learned) -> Learned:
        """Use the spellings of levels in ``other``, for levels with several spellings such as "Yes" and "yes"."""
        schema, statistics = respelled(self.schema, self.statistics, other.schema)
        return replace(self, schema=schema, statistics=statistics)

    def alike(self, other: Learned) -> tuple[Learned, Learned]:
        """Give each column the same family in two ``Learned`` objects."""
        if not self.counts.cells.empty:  # The cells belong to the families with which they were counted.
            return self, other
        return alike(self, other)

    def __mul__(self, factor: float) -> Learned:
        return replace(self, statistics=self.statistics * factor, counts=self.counts * factor)

    def without(self, other: Learned) -> Learned:
        whole, other = self.alike(other)
        rest = whole.statistics.without(other.statistics)
        # Cells of shapes and pairs are counted by the position of levels.
        schema, rest = without_unused(whole.schema, rest, words=not self.counts.cells.empty)
        counts = self.counts.without(other.over(self.classes).counts)
        return replace(self, schema=schema, statistics=rest, counts=counts)

    def over(self, classes: Array) -> Learned:
        places = _places(self.classes, classes)
        counts = self.counts if places == [*range(len(self.classes))] else self.counts.take(places)
        statistics = self.statistics.reindexed(classes.tolist())
        return replace(self, statistics=statistics, classes=classes, counts=counts)


def counts_of(settings: EstimatorParameters, held: Classifier) -> DependenceStatistics:
    """The counts that the dependence uses, such as rows per pair of levels."""
    if held.dependence is None or settings.dependence is None:
        return nothing(len(held.classes))
    return held.dependence.statistics


def counts_alike(settings: EstimatorParameters, one: Classifier, other: Classifier) -> bool:
    """Whether ``one`` has no counts of pairs and intervals, or counts the same pairs and intervals as ``other``."""
    mine, theirs = (counts_of(settings, each).cells for each in (one, other))
    return mine.empty or mine.same(theirs)


def _places(classes: Array, among: Array) -> list[int]:
    place = {label: c for c, label in enumerate(classes.tolist())}
    return [place.get(label, -1) for label in among.tolist()]


SET_AFTER_FIT = {"absent": "absent", "unlabelled": "unlabelled", "seed": "random_state"}
"""Fields of the classifier that can be set after a fit, and the corresponding parameters of the estimator."""


def believed(
    settings: EstimatorParameters, before: Classifier | None, learned: Learned,
    draws: Mapping[Any, Draws] | None = None, **others: Any,
) -> Classifier:  # fmt: skip
    """Build a classifier from what was learned."""
    # ``before`` is an earlier classifier. A feature with draws in ``draws`` is not sampled again. ``others`` holds
    # values of further classifier fields.
    require_choice("absent", settings.absent, ("error", "missing"))
    label, declared, schema = settings.label_prior, tuple(dict.fromkeys(learned.declared)), learned.schema
    model = schema.model(label)
    classes = with_named(learned.classes, [*declared, *model.named_classes(learned.classes.tolist())])
    if before is not None:
        kept = {name: getattr(before, name) for name in ("target", "reading", "em", "expected")}
        others = kept | others
    if classes is not learned.classes:
        learned = learned.over(classes)
    if isinstance(label, WithUnknown) and learned.statistics.rows[classes.tolist().index(label.unknown)] > 0:
        raise RefusedError(
            "rows have the label {label!r}, which {unknown} gives to the class without rows; give it another name, or "
            "leave these rows out",
            label=label.unknown,
            unknown=Cure("unknown", label.unknown),
        )
    schema.require_words()
    # These checks come first, because sampling a feature takes long.
    if settings.dependence is not None:
        require_exact(model)
    model.require_estimate(settings.estimate)
    posterior = Believed(model.posterior(learned.statistics, draws))
    others |= {name: getattr(settings, parameter) for name, parameter in SET_AFTER_FIT.items()}
    made = Classifier(schema, posterior.with_estimate(settings.estimate), classes, declared, **others)
    if before is None or before.dependence is None or settings.dependence is None:
        return made
    if new := schema.features.keys() - before.schema.features.keys():
        raise RefusedError(
            "features {features} are new, and exponents belong to the features that they were learned with: use "
            "{cure}, learn these rows, and then learn_exponents(X, y) from a sample of all rows",
            features=sorted(map(str, new)),
            cure=Cure("dependence"),
        )
    held = before.dependence.over(_places(before.classes, classes))
    return made.with_dependence(held.after(learned.counts))


def of_file(path: Any) -> tuple[EstimatorParameters, Classifier, str]:
    """The parameters, the classifier and the content hash of a model file."""
    file = document.read(path)
    try:
        settings = EstimatorParameters(**file.configuration)
        others = {"target": file.target, "reading": file.reading, "expected": file.expected, "draws": file.draws}
        others["record"] = file.record
        counts = nothing(len(file.classes))
        learned = Learned(file.schema, file.statistics, file.classes, file.declared, counts)
        made = believed(settings, None, learned, **others)
        if file.dependence is not None:
            made = made.with_dependence(file.dependence.over(_places(file.classes, made.classes)))
        if file.drawn:
            made = made.with_draws(DrawnPosterior.of(made.posterior, **file.drawn))
    except MemoryError as error:
        raise ModelFileError(f"{path}: holds a model that does not fit into memory") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ModelFileError(f"{path}: holds no model that can be fitted ({error})") from error
    return settings, made, file.hash
