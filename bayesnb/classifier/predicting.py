"""The most probable class of each row, and the probability of each class.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesnb.data.rows import table_of
from bayesnb.data.unseen import warn_of_unseen
from bayesnb.model import normalize, probabilities
from bayesnb.priors import Array

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier


def predict(self: Classifier, X: Any) -> Array:
    """The most probable class of each row, (row,).

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict(X[:3])
    array(['no', 'no', 'yes'], dtype=object)
    """
    log_joint = self.predict_joint_log_proba(X)
    normalize(log_joint)
    return self.classes[log_joint.argmax(axis=1)]


def predict_proba(self: Classifier, X: Any) -> Array:
    """p(c | x, D) by the chosen estimate, (row, class).

    Raises
    ------
    ImpossibleRowError
        If a row has probability 0 under every class (only plug-ins can say so).

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_proba(X[:2]).round(3)
    array([[0.704, 0.296],
           [0.847, 0.153]])
    """
    return probabilities(self.predict_joint_log_proba(X))


def predict_log_proba(self: Classifier, X: Any) -> Array:
    """log p(c | x, D), (row, class).

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_log_proba(X[:1]).round(3)
    array([[-0.351, -1.218]])
    """
    return normalize(self.predict_joint_log_proba(X))


def predict_joint_log_proba(self: Classifier, X: Any) -> Array:
    """log p(c, x | D), (row, class): not normalized, so its logsumexp says how probable the row is.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_joint_log_proba(X[:1]).round(2)
    array([[-3.84, -4.71]])
    """
    table = table_of(X, self.schema)
    self.require_offset_of(table)
    self.posterior.warn_of_chains()
    _, data = self.schema.encode(table, absent=self.absent)
    warn_of_unseen(self.schema, table)
    return self.schema.computed(data, lambda: self.log_joint(data, table.n_rows))
