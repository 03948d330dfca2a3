"""Presets that reproduce other libraries: each function returns a classifier with the same predictions.

Presets plug in point estimates, and never replace small probabilities by a constant. Intervals, exact leave-one-out,
``forget`` and full Bayes (``set_params(estimate="predictive")``) work as usual, except in :func:`weka` with numeric
columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from bayesnb.data.specifications import ByType
from bayesnb.estimator import BayesianNB
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.trials import Bernoulli, Categorical
from bayesnb.presets.rounded import RoundedGaussian
from bayesnb.priors import Beta, Dirichlet, NormalGamma

SPARK_SMOOTHING = 1e-9
"""Spark adds this fraction of the largest variance to every variance."""


def sklearn(
    alpha: float = 1.0,
    var_smoothing: float = 1e-9,
    model: Literal["GaussianNB", "CategoricalNB", "BernoulliNB", "MultinomialNB"] | None = None,
) -> BayesianNB:
    """The naive Bayes classifiers of scikit-learn.

    Numbers are read as by ``GaussianNB``, text as by ``CategoricalNB``, binary values (True, False, 0, 1) as by
    ``BernoulliNB``, and sparse matrices as by ``MultinomialNB``. In a table of several types, the likelihoods of all
    columns are multiplied.

    Parameters
    ----------
    alpha : float
        Smoothing of ``CategoricalNB``, ``BernoulliNB`` and ``MultinomialNB``.
    var_smoothing : float
        This fraction of the largest variance of any numeric column is added to every variance, as in ``GaussianNB``.
    model : {"GaussianNB", "CategoricalNB", "BernoulliNB", "MultinomialNB"}, optional
        Treat all columns as this class of scikit-learn does. A dense table of counts needs "MultinomialNB".

    Returns
    -------
    BayesianNB
        Not fitted.

    Raises
    ------
    ValueError
        For a negative number, or an unknown ``model``.

    Notes
    -----
    In ``CategoricalNB``, every code from 0 to the largest code is a level. In this package, a code is a level only if
    it occurs in the data or in a categorical type. ``GaussianNB`` computes the largest variance without sample weights
    and, in ``partial_fit``, without earlier rows; this package uses sample weights and earlier rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.heights()
    >>> ours, theirs = nb.presets.sklearn().fit(X, y), GaussianNB().fit(X, y)
    >>> np.allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    True
    """
    _require_numbers(alpha=alpha, var_smoothing=var_smoothing)
    read = {
        "GaussianNB": _counted_by_n(var_smoothing),
        "CategoricalNB": Categorical(Dirichlet(alpha)),
        "BernoulliNB": Bernoulli(Beta(alpha, alpha)),
        "MultinomialNB": Multinomial(Dirichlet(alpha)),
    }
    if model is not None:
        return _plug_in(_one_of("model", model, read))
    number, text, binary, sparse = read.values()
    return _plug_in(ByType(number, text, binary, binary, sparse))


def e1071(laplace: float = 0.0, threshold: float = 0.0, eps: float = 0.0) -> BayesianNB:
    """``naiveBayes`` of the R package e1071.

    The variance of a numeric column has the divisor N - 1. Class probabilities are relative frequencies. Unseen levels
    are skipped.

    Parameters
    ----------
    laplace : float
        Smoothing of text, categorical and Boolean columns; none by default.
    threshold, eps : float
        Must be 0. In e1071, ``predict`` replaces probabilities, densities and standard deviations of at most ``eps`` by
        ``threshold``.

    Returns
    -------
    BayesianNB
        Not fitted.

    Raises
    ------
    ValueError
        For a negative number, or a ``threshold`` or ``eps`` that is not 0.

    Notes
    -----
    To get the same numbers in R, call ``predict(model, rows, type = "raw", threshold = 1e-300)``. R's default threshold
    changes the probabilities of rows with a level that is unseen in a class, or with a density that underflows to 0.

    In R, convert text to factors; otherwise, ``laplace`` gives probabilities that sum to more than 1.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    >>> nb.presets.e1071().fit(X, y).predict_proba(today).round(3)  # as in Mitchell's book
    array([[0.795, 0.205]])
    >>> nb.presets.e1071(threshold=0.001)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: threshold: Expected 0, because no probability is ever replaced here; got 0.001...
    """
    _require_numbers(laplace=laplace)
    _require_nothing_replaced(threshold=threshold, eps=eps)
    return _plug_in(_as_in_r(laplace))


def klar(prior: Any = None, fL: float = 0.0, usekernel: bool = False, threshold: float = 0.0) -> BayesianNB:
    """``NaiveBayes`` of the R package klaR, which gives the same numbers as :func:`e1071`.

    Parameters
    ----------
    prior : {label: probability}, Series or array (class,), optional
        Class probabilities, divided by their sum; by default the relative frequencies of the labels.
    fL : float
        Smoothing of text, categorical and Boolean columns; none by default.
    usekernel : bool
        Must be False: kernel densities have no counterpart here.
    threshold : float
        Must be 0. In klaR, ``predict`` replaces probabilities and densities of 0 by ``threshold``.

    Returns
    -------
    BayesianNB
        Not fitted.

    Raises
    ------
    ValueError
        For a negative ``fL``, a nonzero ``threshold``, or ``usekernel=True``.

    Notes
    -----
    In R, call ``predict(model, rows, threshold = 0)$posterior`` to compare. klaR returns NaN if the probabilities of a
    row underflow to 0 in all classes. A numeric column that is constant in a class raises an error in both packages.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.heights()
    >>> nb.presets.klar({"female": 1, "male": 3}).fit(X, y).predict_proba(X[:1]).round(3)
    array([[0.004, 0.996]])
    """
    _require_numbers(fL=fL)
    _require_nothing_replaced(threshold=threshold)
    if usekernel:
        raise ValueError(
            "usekernel: Expected False, because kernel densities have no counterpart here; "
            "features=nb.families.PolyaTree() has a posterior of the shape"
        )
    return _plug_in(_as_in_r(fL), "frequencies" if prior is None else _normalized(prior))


def spark(
    smoothing: float = 1.0, model_type: Literal["multinomial", "bernoulli", "gaussian"] = "multinomial"
) -> BayesianNB:
    """``NaiveBayes`` of Spark ML.

    Parameters
    ----------
    smoothing : float
        Number added to every count, including class counts; unused by "gaussian".
    model_type : {"multinomial", "bernoulli", "gaussian"}
        Treat all columns as counts, as zeros and ones, or as numbers. Spark's "complement" has no counterpart here.

    Returns
    -------
    BayesianNB
        Not fitted. Predicted probabilities are in the order of ``classes_``.

    Raises
    ------
    ValueError
        If ``smoothing`` is negative, or ``model_type`` is unknown.

    Examples
    --------
    >>> import bayesnb as nb
    >>> counts = [[2, 0, 1], [1, 1, 0], [0, 3, 1], [0, 1, 2]]
    >>> clf = nb.presets.spark(smoothing=0.5).fit(counts, [0.0, 0.0, 1.0, 1.0])
    >>> clf.predict_proba([[1, 1, 1]]).round(4)
    array([[0.691, 0.309]])
    """
    _require_numbers(smoothing=smoothing)
    read = {
        "multinomial": Multinomial(Dirichlet(smoothing)),
        "bernoulli": Bernoulli(Beta(smoothing, smoothing)),
        "gaussian": _counted_by_n(SPARK_SMOOTHING),
    }
    features = _one_of("model_type", model_type, read)
    return _plug_in(features, "frequencies" if model_type == "gaussian" else Dirichlet(smoothing))


def weka() -> BayesianNB:
    """``NaiveBayes`` of Weka, with its default options.

    Laplace smoothing adds 1 to level and class counts. Numbers are modelled by
    ``bayesnb.presets.rounded.RoundedGaussian``.

    Returns
    -------
    BayesianNB
        Not fitted. Numeric columns have a point estimate and no posterior, so models with numeric columns have no
        intervals, no exact leave-one-out and no model files.

    Notes
    -----
    Results may differ from Weka's if a value is more than about 6 standard deviations above all class means, or more
    than about 18 below all class means. For such values, Weka loses digits or uses its smallest probability, 1e-75.
    Weka's options ``-K`` and ``-D`` have no counterpart.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    >>> nb.presets.weka().fit(X, y).predict_proba(today).round(3)
    array([[0.735, 0.265]])
    """
    return _plug_in(ByType(RoundedGaussian(), zero_one=RoundedGaussian(), sparse=None), Dirichlet(1.0))


def _plug_in(features: Family | ByType, class_prior: Any = "frequencies") -> BayesianNB:
    return BayesianNB(features, class_prior=class_prior, estimate="mean")


def _counted_by_n(var_smoothing: float) -> Gaussian:
    """A Gaussian family whose variance estimate has the divisor N."""
    # The posterior mean of the precision τ is (n/2) / (S/2) = n / S.
    return Gaussian(NormalGamma(0.0, 0.0, 0.0, 0.0), var_smoothing or None)


def _as_in_r(laplace: float) -> ByType:
    number = Gaussian(NormalGamma.reference())
    return ByType(number, Categorical(Dirichlet(laplace)), Bernoulli(Beta(laplace, laplace)), number, None)


def _require_numbers(**given: float) -> None:
    for name, value in given.items():
        if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
            raise ValueError(f"{name}: Expected a number of 0 or more; got {value!r}")


def _require_nothing_replaced(**given: float) -> None:
    for name, value in given.items():
        if value != 0:
            raise ValueError(
                f"{name}: Expected 0, because no probability is ever replaced here; got {value!r}. To compare, call "
                "predict(..., threshold = 1e-300) in R"
            )


def _one_of(name: str, given: Any, read: Mapping[str, Family]) -> Family:
    if given not in read:
        raise ValueError(f"{name}: Expected one of {list(read)}; got {given!r}")
    return read[given]


def _normalized(prior: Any) -> Any:
    if isinstance(prior, Mapping):
        total = sum(prior.values())
        return {label: p / total for label, p in prior.items()}
    return prior / prior.sum() if hasattr(prior, "sum") else np.asarray(prior, float) / np.sum(prior)


__all__ = ["e1071", "klar", "sklearn", "spark", "weka"]


def __dir__() -> list[str]:
    return __all__
