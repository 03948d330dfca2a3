"""The model before any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.data.specifications import EstimatorParameters, entries
from bayesnb.data.tables import Table
from bayesnb.data.targets import with_named
from bayesnb.families.family import Family
from bayesnb.learned import Learned
from bayesnb.learning import labelled_rows
from bayesnb.model import Data, Posterior, Statistics
from bayesnb.priors import Array
from bayesnb.statistics.statistic import same
from bayesnb.wording import Cure, RefusedError


@dataclass(frozen=True, eq=False)
class PriorModel:
    """The prior, as a ``Posterior`` that has learned no rows, and the table to which default priors are scaled."""

    prior: Posterior
    statistics: Statistics
    data: Data
    codes: Array


def of_table(
    settings: EstimatorParameters, X: Any, y: Any, classes: Sequence[Any], rng: np.random.Generator, n: int
) -> PriorModel:
    """The model before any data, with priors scaled to the table ``X``."""
    label = settings.label_prior
    if y is None:
        named = [*classes, *label.named_classes(list(classes))]
        if not named:
            raise ValueError('Expected labels y, or classes, such as classes=["no", "yes"]; got neither')
        if settings.class_prior == "frequencies":
            raise RefusedError("{prior} needs labels y", prior=Cure("class_prior", "frequencies"))
        classes = list(dict.fromkeys(named))
        y = np.resize(np.array(classes[:1]), Table.of(X).n_rows)
    part = labelled_rows(settings, X, y, None, None)
    learned = Learned.of(EstimatorParameters.of(settings, dependence=None), None, part)
    schema = learned.schema
    model = schema.model(label)
    named = [*learned.declared, *classes, *model.named_classes(learned.classes.tolist())]
    classes = with_named(learned.classes, named)
    schema.require_words()
    statistics = learned.over(classes).statistics
    data = schema.read(schema.through(part.table))[1]
    return PriorModel(model.before(statistics, rng, n), statistics, data, part.target.among(classes))


MADE_UP = ((1.0, 2.0, 4.0), (100.0, 900.0, 1700.0))
"""Two made-up columns of numbers on different scales."""


def of_features(settings: EstimatorParameters, classes: Sequence[Any], rng: np.random.Generator, n: int) -> PriorModel:
    """Make the prior model from the features alone; raise an error if a prior depends on data."""
    # A prior depends on data if it differs between two made-up tables of different scales.
    if not isinstance(settings.features, Mapping):
        raise ValueError("Expected a table X, or features as {column: family}, to know which columns there are")
    tables = [_made_up(settings.features, which) for which in range(2)]
    one, other = (of_table(settings, table, None, classes, rng, n) for table in tables)
    for name, prior in one.prior.prior.items():
        if not same(prior, other.prior.prior[name]):
            raise RefusedError(
                "feature {name!r}: its prior is scaled to the column, and there are no rows: pass a table X, or give "
                "all hyperparameters of the prior",
                name=name, column=name,
            )  # fmt: skip
    return one


def _made_up(features: Mapping[Any, Any], which: int) -> dict[Any, Any]:
    table: dict[Any, Any] = {}
    for entry in entries(features):
        family = entry.spec
        prior = getattr(family, "prior", None)
        levels = getattr(prior, "alpha", None)
        if not isinstance(family, Family) or family.needs_rows or family.support.kind == "bag":
            values: Any = None
        elif family.support.kind == "levels":
            named = family.order_of(0) or (list(levels) if isinstance(levels, Mapping) else None)
            values = None if named is None else np.resize(np.array(named, object), max(3, len(named)))
        elif family.support.kind == "zero_one":
            values = np.array([0, which, 1])
        else:
            values = np.array(MADE_UP[which])
        if values is None:
            raise RefusedError(
                "feature {name!r}: its levels or words are only known from a table: pass X, or name the levels in the "
                "prior, as Categorical(Dirichlet({{'low': 1, 'high': 1}}))",
                name=entry.key, column=entry.key,
            )  # fmt: skip
        table |= dict.fromkeys(entry.columns, values)
    n = max(map(len, table.values()))
    return {name: np.resize(values, n) for name, values in table.items()}
