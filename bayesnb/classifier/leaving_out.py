"""What a model says of rows that it has learned, each left out of what it has learned.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in ``model``
and ``families``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesnb.answers import explain as formulas
from bayesnb.chains import GOOD_K
from bayesnb.classifier.tabular import index_of
from bayesnb.data.rows import Rows
from bayesnb.dependence import terms
from bayesnb.families.sampled import LeftOut
from bayesnb.model import Data, normalize
from bayesnb.priors import Array
from bayesnb.statistics.membership import Labels
from bayesnb.wording import warn

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier

SEEN = (
    "the exponents are held and have seen the label of each row, so these probabilities are too good; evaluate with "
    "cv=5 learns the exponents of each fold anew"
)
"""What is to be said of rows that are left out where there is a dependence."""

HEAVIEST = 2.0**53
"""The largest weight of a row that can be left out: beside a larger one, a float holds no prior worth one row."""


def loo(
    self: Classifier, X: Any, y: Any, sample_weight: Any = None, by: str = "row", refit: bool = False
) -> pd.DataFrame:
    """Leave-one-out predictive of rows that were learned: exact, but for sampled features.

    Parameters
    ----------
    X, y, sample_weight
        The rows, exactly as they were learned. The estimator keeps no rows, so it needs them again.
    by : {"row", "feature"}
        Answers of whole rows, or what each column adds to them.
    refit : bool
        Sample a feature again, without the row, where the weights of its draws cannot be trusted. Each such cell takes
        as long as a fit of its column.

    Returns
    -------
    DataFrame (row, ...)
        By row: ``log_density``, log p(x_i, y_i | D without row i), and under ``probability`` one column a class,
        p(c | x_i, D without row i), both by the chosen estimate; and under ``pareto_k`` one column for each column of a
        sampled feature (see the notes). By feature, columns (class, term), in nats: under
        "(prior)" log p(c | D without row i), and for each column j log p(x_ij | c, D without row i), all parameters
        integrated out; a bag of words is one term. They sum to log p(x_i, c | D without row i). A prior that was scaled
        to the data keeps that scale.

    Warns
    -----
    UserWarning
        If the weights of some draws cannot be trusted (``pareto_k`` above 0.7), with the column and the rows; if chains
        did not converge.

    Notes
    -----
    The draws of a sampled feature are weighted by one over the likelihood of the row's cell, and the largest weights
    are smoothed (Vehtari, Simpson, Gelman, Yao and Gabry 2024). ``pareto_k`` is the shape of their tail, 0 where the
    feature was sampled again without the row, and NaN where the cell is missing.

    With a dependence, the row is left out of the class prior and of all terms, those of shapes, pairs and joint columns
    included. The exponents are held, and they have seen the label of the row. So the answers are too good, by much if
    rows are few (thirty columns of breast cancer: a log loss of 0.03, where five folds give 0.09); ``attrs["note"]`` of
    the frame says so. ``evaluate`` with ``cv=5`` learns the exponents of each fold anew. By feature, terms stand as
    they are, not multiplied by their exponents; those beside the columns belong to no naive Bayes, and take no part in
    the sum.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.loo(X, y).head(2).round(2)
      log_density probability
                           no   yes
    0        -4.7        0.48  0.52
    1        -4.3        0.71  0.29
    """
    if by not in ("row", "feature"):
        raise ValueError(f"Expected by to be 'row' or 'feature'; got {by!r}")
    if by == "feature":
        return _left_out_terms(self, X, y, sample_weight, refit)
    log_joint, codes, sampled = _left_out(self, X, y, sample_weight, refit)
    proba = np.exp(normalize(log_joint))
    columns = {("log_density", ""): log_joint[np.arange(len(codes)), codes]}
    columns |= {("probability", label): proba[:, c] for c, label in enumerate(self.classes)}
    for name, found in sampled.items():
        named = enumerate(self.schema.features[name].columns)
        columns |= {("pareto_k", column): found.k[:, j] for j, column in named}
    found = pd.DataFrame(columns, index=index_of(X))
    if self.dependence is not None:
        found.attrs["note"] = SEEN
    return found


def _left_out_terms(self: Classifier, X: Any, y: Any, sample_weight: Any, refit: bool) -> pd.DataFrame:
    """What each term says of rows that were learned without them, columns (class, term)."""
    data, labels = learned_rows(self, X, y, sample_weight)
    prior = self.posterior.only(()).log_left_out({}, labels)
    names = [formulas.PRIOR, *terms.names(self.posterior)]
    sampled = self.posterior.sampled_left_out(data, labels, refit)
    _warn_of_weights(self, sampled)
    own = terms.left_out(self.posterior, data, labels, sampled)
    found = [prior[:, :, None], own]
    if self.dependence is not None:
        found.append(self.dependence.terms.beside(self.posterior, own, data, labels))
        names += self.dependence.terms.names_beside(names[1:])
    columns = pd.MultiIndex.from_product([self.classes, names], names=["class", "term"])
    return pd.DataFrame(np.concatenate(found, axis=-1).reshape(len(own), -1), index=index_of(X), columns=columns)


def learned_rows(self: Classifier, X: Any, y: Any, sample_weight: Any) -> tuple[Data, Labels]:
    """Rows that were learned, each of which can be left out."""
    self.require_one_class_prior("leave-one-out")
    self.require_counted("leave-one-out is exact for rows that were counted")
    rows = Rows.of(X, y, sample_weight, self.unlabelled, self.schema).labelled()
    if (largest := rows.weight.max()) > HEAVIEST:
        raise ValueError(
            f"a row has the weight {largest:g}, beside which no digit of the prior is left, so no row can be left out: "
            "divide the sample_weight of all rows by the same number"
        )
    return self.encoded(rows)


def log_left_out(self: Classifier, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Array]:
    """log p(c, x_i | D without row i) of rows that were learned, by the chosen estimate, and their classes.

    Returns
    -------
    log_joint : array (row, class)
    codes : int array (row,)
        The place of each row's class among ``classes``.
    """
    return _left_out(self, X, y, sample_weight)[:2]


def _left_out(
    self: Classifier, X: Any, y: Any, sample_weight: Any, refit: bool = False
) -> tuple[Array, Array, dict[Any, LeftOut]]:
    data, labels = learned_rows(self, X, y, sample_weight)
    log_joint, sampled = self.posterior.left_out(data, labels, self.estimate, refit)
    _warn_of_weights(self, sampled)
    if self.dependence is None:
        return log_joint, labels.codes, sampled
    if self.plug_in is not None:
        raise ValueError(
            f'with a dependence, a row is left out of terms whose parameters are integrated out; estimate="'
            f'{self.estimate}" plugs them in: ask classifier_.with_estimate("predictive")'
        )
    log_proba = self.dependence.log_left_out(self.posterior, data, labels)
    return logsumexp(log_joint, axis=1, keepdims=True) + log_proba, labels.codes, sampled


def _warn_of_weights(self: Classifier, sampled: Mapping[Any, LeftOut]) -> None:
    """Warn once of all columns with rows that cannot be left out by weighting draws, or by the chains without them."""
    for name, found in sampled.items():
        if odd := [convergence for convergence in found.again if not convergence.converged]:
            warn(
                f"feature {name!r}: {len(odd)} of {len(found.again)} runs without a row did not converge ({odd[0]}); "
                "draw or tune more (the family takes draws=, tune= and target_accept=)",
            )
    said = []
    for name, found in sampled.items():
        for column, k in zip(self.schema.features[name].columns, found.k.T, strict=True):
            if len(bad := np.flatnonzero(k > GOOD_K)):
                worst = bad[k[bad].argmax()]
                shown = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
                said.append(
                    f"column {column!r}: {len(bad)} of {len(k)} rows ({shown}; pareto_k {k[worst]:.2f} in row {worst})"
                )
    if said:
        warn(
            f"{'; '.join(said)} change the posterior too much to be left out by weighting its draws. What is said of "
            "them without themselves may be far off: loo(X, y, refit=True) samples again without each of them, and "
            "evaluate(..., cv=5) fits anew without each fold",
        )
