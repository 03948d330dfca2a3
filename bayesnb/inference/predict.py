"""The most probable class of each row, and the probability of each class."""

from __future__ import annotations

from typing import Any

from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import question
from bayesnb.model import normalize
from bayesnb.priors import Array


@question("the most probable class of each row", "predict")
def predict(classifier: Classifier, X: Any) -> Array:
    """The most probable class of each row, (row,).

    Parameters
    ----------
    X : table
        The rows to predict.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict(X[:3])
    array(['no', 'no', 'yes'], dtype=object)
    """
    log_joint = classifier.believed.log_joint(*classifier.read(X))
    normalize(log_joint)
    return classifier.classes[log_joint.argmax(axis=1)]


@question("the probability of each class", "predict")
def predict_proba(classifier: Classifier, X: Any) -> Array:
    """p(c | x, D) by the chosen estimate, (row, class).

    Parameters
    ----------
    X : table
        The rows to predict.

    Raises
    ------
    ImpossibleRowError
        If a row has probability 0 under every class. Only plug-ins can assign probability 0 to a row.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_proba(X[:2]).round(3)
    array([[0.704, 0.296],
           [0.847, 0.153]])
    """
    return normalize(classifier.believed.log_joint(*classifier.read(X)), log=False)


@question("its logarithm", "predict")
def predict_log_proba(classifier: Classifier, X: Any) -> Array:
    """log p(c | x, D), (row, class).

    Parameters
    ----------
    X : table
        The rows to predict.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_log_proba(X[:1]).round(3)
    array([[-0.351, -1.218]])
    """
    return normalize(classifier.believed.log_joint(*classifier.read(X)))


@question("how probable each row is with each class", "predict")
def predict_joint_log_proba(classifier: Classifier, X: Any) -> Array:
    """log p(c, x | D), (row, class). The logsumexp over classes is log p(x | D).

    Parameters
    ----------
    X : table
        The rows to predict.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_joint_log_proba(X[:1]).round(2)
    array([[-3.84, -4.71]])
    """
    return classifier.believed.log_joint(*classifier.read(X))
