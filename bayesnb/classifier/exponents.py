"""To what powers the terms of a classifier count, where there is a dependence.

The functions with a ``self`` are of :class:`bayesnb.classifier.Classifier`. What is learned of the exponents is in
``dependence``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pandas as pd

from bayesnb.model import Data, Estimate, estimate_rule
from bayesnb.numerics import Array, log

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier


def exponents_(self: Classifier) -> pd.DataFrame:
    """The exponents of all terms as a table; absent where none were learned. See :class:`bayesnb.Exponents`.

    ``mean`` and ``sd`` of the posterior, ``lower`` and ``upper`` (89 %), and ``log_bayes_factor``, in nats, of an
    exponent that is learned against one that stays at its prior mean. ``attrs["rows"]`` is the weight of the rows
    that they were learned from; ``attrs["older"]`` is true if rows were learned or forgotten since then;
    ``attrs["offsets"]`` is "class" if there were too few rows, or too many cells, for the offsets of cells.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> BayesianNB(dependence="weighted").fit(X, y).exponents_[["mean", "sd"]].round(1)
                 mean   sd
    term
    outlook       1.0  0.3
    temperature   0.9  0.3
    humidity      1.0  0.3
    wind          1.0  0.3
    """
    if self.dependence is None:
        raise AttributeError('exponents_ does not exist: fit with dependence="weighted" or another one')
    return self.dependence.table()


def log_proba(self: Classifier, data: Data, n_rows: int) -> Array:
    """log p(c | x) of encoded rows where there is a dependence, by the chosen estimate, (row, class)."""
    log_pi = log(self.posterior.label.mean()) if self.plug_in is None else self.plug_in.log_pi
    how = log_pi + self.offset, self.plug_in, point(self)
    return self.dependence.log_proba(self.posterior, data, n_rows, *how)


def point(self: Classifier) -> Literal["mode", "mean"] | None:
    """Which point of the exponents the estimate plugs in; ``None`` averages over their posterior."""
    rule = estimate_rule(self.estimate)
    return rule.point if rule.plugs_in else None


def require_prior(estimate: Estimate) -> None:
    """Refuse an estimate without priors, under which exponents may have no value."""
    if estimate_rule(estimate).flat:
        raise ValueError(
            f'estimate="{estimate}" takes all priors away, and exponents have no maximum of the likelihood where '
            'classes separate; use estimate="map", or dependence=None'
        )
