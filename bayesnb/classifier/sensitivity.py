"""How much the priors matter: what changes with their power.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``answers.sensitivity``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.answers import sensitivity as formulas
from bayesnb.classifier.sampling import drawn_rows
from bayesnb.classifier.tabular import index_of
from bayesnb.estimates import estimate_rule

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier

ROWS = 200
"""Rows that are drawn from the model where none are given."""


def sensitivity(
    self: Classifier, X: Any = None, scaling: formulas.Scaling = "density", by: str = "factor"
) -> pd.DataFrame:
    """How much each prior matters: the change of class probabilities with each doubling of the prior's power.

    Parameters
    ----------
    X : table, optional
        Rows whose class probabilities are asked about; by default, 200 rows that are drawn from the model.
    scaling : {"density", "rows"}
        What the power s does. "density" raises the density of the parameters to the power s, as ArviZ' ``psense`` and
        priorsense do: a Dirichlet(α) becomes Dirichlet(1 + s (α - 1)), so that a flat prior stays as it is. "rows"
        counts the imaginary rows of the prior s times: Dirichlet(α) becomes Dirichlet(s α), and none is flat.
    by : {"factor", "row"}
        One line for each factor of the model, or one for each row.

    Returns
    -------
    DataFrame (factor, ...)
        A factor is "(class)", a feature, or "(all)": all of them together. Under ``prior`` and ``likelihood``, of
        which the power changes: ``mean`` and ``largest``, over the rows, of the largest change of a class
        probability; and ``log_evidence``, the change of the log evidence in nats (NaN under an improper prior). Under
        ``prior`` also ``flat``: whether no power changes this prior. By row, columns (part, factor): the change of the
        probability of the predicted class, with its sign. All changes are slopes at the power 1, by log2 of the
        power: what a doubling would change if the slope stayed.

    Raises
    ------
    ValueError
        If a feature is sampled, rows without a label were learned, the features have exponents, the estimate has no
        prior ("mle"), or there is a class prior for each row.

    Notes
    -----
    A prior that was scaled to the data keeps its scale. The power of the likelihood counts each learned row s times;
    the asked row counts once. To first order, the changes of several factors add.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Dirichlet, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(class_prior=Dirichlet(3)).fit(X, y)
    >>> clf.sensitivity(X, scaling="rows")["prior"][["mean", "largest", "log_evidence"]].round(2)
                 mean  largest  log_evidence
    factor
    (class)      0.02     0.02          0.17
    outlook      0.03     0.11          0.63
    temperature  0.01     0.02          1.09
    humidity     0.02     0.04          0.42
    wind         0.01     0.02          0.60
    (all)        0.04     0.09          2.92
    """
    if by not in ("factor", "row"):
        raise ValueError(f"Expected by to be 'factor' or 'row'; got {by!r}")
    self.require_one_class_prior("the sensitivity to a prior")
    self.require_counted("powers are of the likelihood of rows that were counted")
    self.posterior.model.require_exact("a power of its prior", "fit it again under another prior")
    if self.dependence is not None:
        raise ValueError(
            "the exponents were learned under these priors and would change with them; ask a model with dependence=None"
        )
    rule = estimate_rule(self.estimate)
    if rule.flat:
        raise ValueError(f'estimate="{self.estimate}" has no prior; ask classifier_.with_estimate("predictive")')
    if X is None:
        rng = np.random.default_rng(0 if self.seed is None else copy.deepcopy(self.seed))
        data, n = drawn_rows(self, ROWS, rng), ROWS
    else:
        data, n = self.read(X)
    if not n:
        raise ValueError("there are no rows to ask about")
    change, evidence = formulas.sensitivity(self.posterior, data, n, rule, scaling)
    if by == "factor":
        return formulas.summary(change, evidence)
    top = self.log_joint(data, n).argmax(axis=1)
    own = change[..., np.arange(n), top].reshape(-1, n).T
    columns = pd.MultiIndex.from_product([formulas.PARTS, evidence.index], names=["part", "factor"])
    return pd.DataFrame(own, index=index_of(X), columns=columns)
