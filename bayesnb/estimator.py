"""The scikit-learn estimator."""

# Each method that learns replaces the frozen object ``classifier_``.

from __future__ import annotations

import copy
import inspect
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesnb import learned, learning, prior_model
from bayesnb.data.rows import given_beside
from bayesnb.data.specifications import BestFamily, ByType, EstimatorParameters, Missing, made
from bayesnb.data.targets import read_target
from bayesnb.dependence.exponents import DependenceName, Exponents
from bayesnb.families.family import Family
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.methods import FittedModel
from bayesnb.inference.questions import QUESTIONS, listing_questions
from bayesnb.model import Estimate, NoClosedFormError
from bayesnb.modelfile import document
from bayesnb.priors import Array, Dirichlet, FixedProbabilities
from bayesnb.priors.class_prior import of_known_classes
from bayesnb.signatures import require_known
from bayesnb.statistics.statistic import same
from bayesnb.wording import require_whole, warn

if TYPE_CHECKING:
    import pandas as pd
    from xarray import DataTree

type ClassPrior = (
    Dirichlet | FixedProbabilities | Mapping[Any, float] | pd.Series | Array | Literal["frequencies", "uniform"]
)

NESTED = ("features", "class_prior", "unlabelled")
"""Parameters of the estimator that have nested parameters."""


THEIRS = {
    **dict.fromkeys(("theta_", "var_", "sigma_"), 'tables()[column], which has "mean" and "sd"'),
    **dict.fromkeys(("class_log_prior_", "class_prior_"), 'tables()["(class)"], the probabilities of the classes'),
    "feature_log_prob_": "tables()[column], the probabilities of the levels",
    **dict.fromkeys(
        ("feature_count_", "category_count_"), "classifier_.statistics.features[column], or tables()[column]"
    ),
    **dict.fromkeys(("coef_", "intercept_"), "odds.linear_form(clf), which returns weights and intercept"),
    **dict.fromkeys(("summary", "info"), "describe(), or the command bayesnb report for a whole page"),
    **dict.fromkeys(("plot", "plots"), "nb.plots, such as nb.plots.ledger(clf.explain(row))"),
    "log_evidence": "log_evidence_, which is an attribute, or classifier_.log_evidence() for each column",
    **dict.fromkeys(("feature_importances_", "feature_importance"), "nb.checks.column_gains(clf, X, y)"),
    **dict.fromkeys(("posterior", "trace", "idata"), "posterior_, the closed form, or sample_posterior() for draws"),
    **dict.fromkeys(("cross_validate", "evaluate"), "nb.evaluate(clf, X, y, cv=5)"),
    "update": "partial_fit(X, y)",
    "load": "nb.load(path)",
    **dict.fromkeys(("hdi", "credible_interval"), "predict_interval(X)"),
    **dict.fromkeys(("predict_probability", "predict_probabilities"), "predict_proba(X)"),
    **dict.fromkeys(("decision_function", "logit"), "nb.odds.log_odds(clf, X), for two classes"),
    "epsilon_": "nb.presets.sklearn(), which adds it to variances; here priors keep them positive",
    "sample_posterior_predictive": "sample_posterior(X=X, y=y), or nb.draws.sample(clf, n)",
}
"""Attributes of other libraries and names that users try, and their counterparts here."""


ELSEWHERE = {
    "alpha": "features=nb.Categorical(nb.Dirichlet(1.0)), or features={column: nb.Categorical(nb.Dirichlet(1.0))}",
    "laplace": "features=nb.Categorical(nb.Dirichlet(1.0)), or begin with nb.presets.e1071(laplace=1)",
    "fL": "features=nb.Categorical(nb.Dirichlet(1.0)), or begin with nb.presets.klar(fL=1)",
    "smoothing": "features=nb.Categorical(nb.Dirichlet(1.0)), or begin with nb.presets.spark(smoothing=1.0)",
    **dict.fromkeys(["modelType", "model_type"], 'nb.presets.spark(model_type="gaussian") instead'),
    **dict.fromkeys(
        ["usekernel", "kernel", "bandwidth"], 'features={column: "polya-tree"} or {column: "binned"}, for any density'
    ),
    "handle_unknown": 'unseen="missing" or unseen="new"',
    **dict.fromkeys(["seed", "random_seed"], "random_state="),
    "prior": "class_prior= for the classes, or features={column: family(prior)}",
    "force_alpha": "features=nb.Categorical(nb.Dirichlet(1.0)): its concentration is taken as it is",
    "fit_prior": 'class_prior="uniform" for False; class probabilities are learned otherwise',
    "priors": "class_prior={label: probability}",
    "class_weight": "class_prior={label: probability}, or sample_weight in fit",
    "var_smoothing": "features=nb.Gaussian(nb.NormalGamma(m, kappa, a, b)): a prior keeps variances positive. To have "
    "the numbers of scikit-learn, begin with nb.presets.sklearn(var_smoothing=1e-9)",
    "min_categories": 'a categorical type, whose declared levels are levels, or unseen="new"',
    "binarize": "features=nb.Bernoulli(), for a column that holds 0 and 1",
    "categorical_features": 'features={column: "categorical"}',
}
"""Parameters of other implementations of naive Bayes, and their equivalents here."""


def _equivalent(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 1, 0.75)
    return f"write {ELSEWHERE.get(name) or f'{close[0]}='}" if name in ELSEWHERE or close else ""


def _told_of_unknown_names[**P, R](init: Callable[P, R]) -> Callable[P, R]:
    """If a parameter is unknown, suggest a known parameter in the error."""
    known = inspect.signature(init).parameters.keys()

    @wraps(init)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs.keys() - known:
            require_known("BayesianNB", init, kwargs, _equivalent)
        return init(*args, **kwargs)

    return checked


# Locks are kept outside the estimators, so that estimators can be copied and pickled.
_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_LEARNING: WeakSet[Any] = WeakSet()


def _without_locks() -> None:
    """Drop all locks in a forked process."""
    # The threads that held them do not run there.
    _LOCKS.clear()
    _LEARNING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_without_locks)


def one_at_a_time[Verb: Callable[..., Any]](verb: Verb) -> Verb:
    """Decorate a method so that only one thread at a time trains an estimator."""

    @wraps(verb)
    def learn(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(estimator, BaseEstimator):
            raise TypeError(f"{verb.__name__} is a method of an estimator: write BayesianNB().{verb.__name__}(...)")
        with _LOCKS.setdefault(estimator, threading.RLock()):
            if estimator in _LEARNING:
                raise RuntimeError(
                    f"{verb.__name__} was called while this thread was learning into the same estimator: call it "
                    "before or after"
                )
            _LEARNING.add(estimator)
            try:
                return verb(estimator, *args, **kwargs)
            except NoClosedFormError as error:
                raise error.about(verb.__name__) from None
            finally:
                _LEARNING.discard(estimator)

    return cast("Verb", learn)


def _held[T](of: Callable[[Classifier], T], doc: str | None = "") -> T:
    found: Any = property(lambda self: of(self.classifier_), doc=doc)
    return found


@listing_questions
class BayesianNB(FittedModel, ClassifierMixin, BaseEstimator):
    """Naive Bayes classifier with conjugate priors, for any mixture of column types.

    *Learn*

    * to learn from a table: :meth:`fit`; from more rows: :meth:`partial_fit`; from another model: :meth:`merge`
    * to remove learned rows: :meth:`forget`; to down-weight all rows: :meth:`discount`
    * to learn the exponents of ``dependence`` again: :meth:`learn_exponents`
    * to write the model to a file: :meth:`save`; to set parameters by name: :meth:`set_params`

    {questions}

    Parameters
    ----------
    features : family, {column: family}, {name: (family, [columns])}, ByType, BestFamily or Missing, optional
        Families of columns, as objects or by short names such as "poisson". Columns that are not named get a family by
        type: Bernoulli (bool, or only 0 and 1), Categorical (text, categories), ``Text`` (sentences), Gaussian (other
        numbers) or Multinomial (a sparse matrix). :class:`bayesnb.ByType` changes these defaults. "best" chooses the
        family from the rows (:class:`bayesnb.BestFamily`). "missing" also uses whether a cell is missing
        (:class:`bayesnb.Missing`). "best" and "missing" apply to all columns or to one column.
    class_prior : Dirichlet, {label: probability}, Series, array, "frequencies" or "uniform", optional
        Prior of the class probabilities, Dirichlet(1) by default. Class probabilities given as numbers (by label, or in
        the order of ``classes_``) stay fixed.
    estimate : {"predictive", "mean", "map", "mle"}
        How predictions use the parameters: averaged over their posterior ("predictive", full Bayes), or with one
        value plugged in: the posterior mean ("mean"), the posterior mode ("map"), or the maximum-likelihood estimate
        ("mle").
    unseen : {"missing", "new", "error"}
        How to read a level that no fit has seen: as missing, as the level reserved for new levels, or as an error.
    absent : {"error", "missing"}
        How to read a fitted column that a new table lacks: as an error, or as missing. With ``dependence``, missing
        cells may count as evidence for a class; such a model warns if a column is absent.
    columns : {"fixed", "grow"}
        Whether later tables and merged models may have other columns. With "grow", a column that a table lacks is read
        as missing, and the count of a word that a table lacks is read as 0.
    unlabelled : label or Unlabelled, optional
        The value in ``y`` that means "no label", such as -1 in scikit-learn. A missing value in ``y`` always means "no
        label". :class:`bayesnb.Unlabelled` also sets the weight of unlabelled rows and the number of EM starts.
    random_state : int, Generator or None
        Seed of all random draws: new rows, parameters, starting points of EM. Predictions need no seed.
    dependence : {"auto", "auto-counts", "tempered", "weighted", "pairwise", "forests"} or Exponents, optional
        How features may depend on each other given the class; by default, not at all. All settings except "forests"
        raise each factor of naive Bayes to a power. These powers, called exponents, are learned from the labels
        (:class:`bayesnb.Exponents`). "tempered" has one exponent for all features, "weighted" one per feature, and
        "pairwise" also exponents for up to 150 pairs of columns. "auto" averages several models, trees and a linear
        model, with weights learned from held-out rows. With at most 4,096 rows, "auto" stores all rows; "auto-counts"
        stores only counts. "forests" averages over all forests (graphs without cycles) of links between columns. See
        ``docs/how-to/dependent-features.md``.
    unknown : label or {label: probability}, optional
        The name of an additional class for rows of no learned class, such as a new species. By default, the numbers of
        rows per class determine the probability of the unknown class (``docs/how-to/none-of-these.md``). A model with
        an unknown class has no ``dependence``, and its ``estimate`` is "predictive".

    Attributes
    ----------
    classes_ : array (class,)
        Class labels, sorted.
    class_count_ : array (class,)
        Total weight of the rows of each class.
    posterior_ : Posterior
        The posterior of the class probabilities and of the parameters of all columns.
    exponents_ : DataFrame
        The exponents (powers of likelihoods) with their uncertainty, for every ``dependence`` except "forests".
    n_features_in_, feature_names_in_ : int, array of str
    classifier_ : bayesnb.inference.classifier.Classifier
        Everything learned, as a frozen object.

    Notes
    -----
    Sample weights are frequency weights: a weight of 2 means that the row was seen twice. If classes are equally
    probable, ``predict`` returns the first of them. Results do not depend on the number of threads (limited by
    ``numba.set_num_threads`` and ``threadpoolctl.threadpool_limits``).

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.classes_
    array(['no', 'yes'], dtype=object)
    >>> clf.predict_proba(today).round(3)
    array([[0.735, 0.265]])
    """

    @_told_of_unknown_names
    def __init__(
        self,
        features: Family | Mapping[Any, Any] | ByType | BestFamily | Missing | str | None = None,
        *,
        class_prior: ClassPrior | None = None,
        estimate: Estimate = "predictive",
        unseen: Literal["missing", "new", "error"] = "missing",
        absent: Literal["error", "missing"] = "error",
        columns: Literal["fixed", "grow"] = "fixed",
        unlabelled: Any = None,
        random_state: Any = None,
        dependence: DependenceName | Exponents | None = None,
        unknown: Any = None,
    ) -> None:
        self.features = features
        self.class_prior = class_prior
        self.estimate = estimate
        self.unseen = unseen
        self.absent = absent
        self.columns = columns
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.dependence = dependence
        self.unknown = unknown

    @one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table, and forget all earlier rows.

        Parameters
        ----------
        X : table (row, column)
            pandas, polars, pyarrow, dict of columns, array or scipy.sparse; values may be missing. A table may also be
            read in parts: a file, folder or glob (Parquet, CSV, Arrow), an iterator of frames, a polars LazyFrame, a
            DuckDB relation, a pyarrow dataset or reader, a Dask DataFrame or a Spark DataFrame.
        y : array (row,), column name, or frame or array (row, class)
            Class labels, or the name of the column of ``X`` with the labels. Rows whose label is missing or equals
            ``unlabelled`` are learned by EM. EM and soft labels need a table in memory. Soft labels are class
            probabilities or counts per row: a frame with a column per class, or an array whose columns are the classes
            0, 1, …
        sample_weight : array (row,) or column name, optional
            Nonnegative frequency weights: the number of times that each row counts.

        Warns
        -----
        ConvergenceWarning
            If EM did not converge.

        Notes
        -----
        Each step of EM uses the posterior mode if ``estimate`` is "mle" or "map", otherwise the posterior mean.

        A class without rows is part of the model if it is named in ``class_prior``, in a feature's prior {class:
        prior}, in ``classes`` of :meth:`partial_fit`, or in the categorical type of the labels.

        If a table is read in parts, the first part determines the intervals of a ``PolyaTree``, the levels of an
        ``Ordinal`` without an order, and the families that "best" chooses. Nothing else depends on how the table is cut
        into parts.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).class_count_
        array([5., 9.])
        """
        made = learning.fitted(EstimatorParameters.of(self), X, y, sample_weight)
        self._features, self._classifier = self.features, made
        if made.em is not None and not made.em.converged:
            warn(f"{made.em}: its responsibilities may still change", ConvergenceWarning)
        return self

    @one_at_a_time
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in any form that :meth:`fit` accepts. The rows may have new classes and new levels.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : sequence, optional
            Names of classes that may have no rows yet.

        Warns
        -----
        UserWarning
            If ``features`` was changed after the first rows were learned: the change has no effect, because the fitted
            families are kept. If a table in memory holds numbers far from the learned ones of a Gaussian column (20
            standard deviations from the mean, or most numbers 5 from the mean of every class), because they may be in
            another unit. The rows are learned all the same; :meth:`forget` removes them.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB()
        >>> for rows in (slice(0, 2), slice(2, 14)):
        ...     clf = clf.partial_fit(X[rows], y[rows])
        >>> clf.class_count_
        array([5., 9.])
        """
        before = self.__dict__.get("_classifier")
        after = learning.with_rows(EstimatorParameters.of(self), before, X, y, classes, sample_weight)
        if before is None:
            self._features = self.features
        self._classifier = after
        if self.columns != "grow" and not same(self.features, self._features):
            warn(
                "features was set after the first rows were learned, whose families and priors are kept; to change "
                "them, fit all rows again"
            )
        return self

    @one_at_a_time
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove learned rows, as if they had never been seen.

        A class without remaining rows is removed, unless a setting names it (see :meth:`fit`). Words and levels without
        remaining rows are removed, too. A level stays, however, if a prior or a categorical type names the level, or if
        the ``dependence`` counts rows per level. A Gaussian column stays Gaussian even if its only remaining values
        are 0 and 1.

        Raises
        ------
        ValueError
            If the rows were evidently never learned, or if no class would be left. After this error, the model is
            unchanged.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).forget(X[:2], y[:2]).class_count_
        array([3., 9.])
        """
        self._classifier = learning.without_rows(EstimatorParameters.of(self), self.classifier_, X, y, sample_weight)
        return self

    @one_at_a_time
    def merge(self, other: BayesianNB) -> Self:
        """Add the rows that another estimator has learned.

        If ``dependence`` has exponents, the exponents of this estimator are kept, so the order of the estimators
        matters.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X[:6], y[:6]).merge(BayesianNB().fit(X[6:], y[6:])).class_count_
        array([5., 9.])
        """
        check_is_fitted(other)
        self._classifier = learning.merged(EstimatorParameters.of(self), self.classifier_, other.classifier_)
        return self

    @one_at_a_time
    def discount(self, factor: float) -> Self:
        """Multiply the weights of all learned rows by a factor between 0 and 1.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).discount(0.5).class_count_
        array([2.5, 4.5])
        """
        self._classifier = learning.discounted(EstimatorParameters.of(self), self.classifier_, factor)
        return self

    @one_at_a_time
    def learn_exponents(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the exponents (powers of likelihoods) of ``dependence`` again.

        The table ``X`` holds all learned rows or a sample of them, and must be in memory. If ``dependence`` was changed
        after the fit, ``X`` also provides the counts for the new ``dependence``.

        Raises
        ------
        ValueError
            If ``dependence`` is None, or if the counts show that some rows were never learned.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB(dependence="weighted").fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
        >>> clf.exponents_.attrs["older"], clf.learn_exponents(X, y).exponents_.attrs["older"]
        (True, False)
        """
        self._classifier = learning.with_exponents(EstimatorParameters.of(self), self.classifier_, X, y, sample_weight)
        return self

    def sample_prior(
        self,
        X: Any = None,
        y: Any = None,
        classes: Any = None,
        rows: int | None = None,
        draws: int = 500,
        chains: int = 1,
        random_seed: Any = None,
    ) -> DataTree:
        """Draw parameters from the priors, and tables from these parameters, before anything is learned.

        The estimator need not be fitted. The ``dependence`` is ignored.

        Parameters
        ----------
        X : table, optional
            Table that defines the columns, and the scale of default priors. Without a table, ``features`` must name
            every column and its family, with a prior that is not scaled to data.
        y : labels, optional
        classes : sequence, optional
            The classes, if there are no labels.
        rows : int, optional
            Number of rows per drawn table; by default the number of rows of ``X``, or 100 without ``X``.
        draws, chains : int
        random_seed : int, optional
            The estimator's ``random_state`` by default.

        Returns
        -------
        DataTree
            The group ``prior`` holds the parameters, named as in :meth:`sample_posterior`. The group
            ``prior_predictive`` holds the class ``y`` and the columns ``x_…`` of each row. Classes and levels are
            integer codes. The group ``observed_data`` holds X and y, if both are given.

        Raises
        ------
        ImproperError
            If a prior is improper.
        ValueError
            If ``X`` is missing, but needed to scale a prior or to find the levels of a column.

        Examples
        --------
        >>> from bayesnb import BayesianNB, Gaussian, NormalGamma, datasets
        >>> heights = Gaussian(NormalGamma(m=170, kappa=1, a=2, b=100))
        >>> clf = BayesianNB({"height_cm": heights}, random_state=0)
        >>> tree = clf.sample_prior(classes=["man", "woman"])
        >>> tree["prior_predictive"]["x_height_cm"].dims, tree["prior"]["mu_height_cm"].sizes["class_label"]
        (('chain', 'draw', 'row'), 2)
        >>> X, y = datasets.heights()
        >>> sorted(BayesianNB().sample_prior(X, y).children)  # priors that are scaled to the table
        ['observed_data', 'prior', 'prior_predictive']
        """
        from bayesnb.sampling import trees

        require_whole(1, draws=draws, chains=chains)
        seed = self.random_state if random_seed is None else random_seed
        rng, start = np.random.default_rng(seed), time.perf_counter()
        if X is None and y is not None:
            raise ValueError("labels y belong to the rows of a table: pass X too, or the classes alone")
        about = [] if classes is None else list(classes), rng, draws * chains
        settings, tables = EstimatorParameters.of(self), () if X is None else (X, y)
        before = (prior_model.of_table if tables else prior_model.of_features)(settings, *tables, *about)
        before.prior.require_proper()
        n = (100 if X is None else len(before.codes)) if rows is None else rows
        require_whole(1, rows=n)
        observed = trees.RowsOfTree(before.data, before.codes, np.arange(n)) if y is not None and rows is None else None
        attributes = trees.attributes_of("prior", seed, start)
        return trees.before_data(before.prior, before.statistics, (chains, draws), n, rng, observed, attributes)

    # Parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; if ``deep``, also nested ones, such as ``features__age__prior__alpha``.

        Examples
        --------
        >>> from bayesnb import BayesianNB, Poisson
        >>> [name for name in BayesianNB({"age": Poisson()}).get_params() if name.startswith("features__")]
        ['features__age', 'features__age__prior', 'features__age__prior__alpha', 'features__age__prior__beta',
         'features__age__prior__tuned', 'features__age__exposure']
        """
        params = super().get_params(deep=False)
        nested = [_deep_params(name, params[name]) for name in NESTED] if deep else []
        return {**params, **{name: value for found in nested for name, value in found.items()}}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, including nested parameters of families and priors.

        Examples
        --------
        >>> from sklearn.model_selection import GridSearchCV
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB({"outlook": "categorical"})
        >>> clf.set_params(features__outlook__prior__alpha=2.0).features
        {'outlook': Categorical(prior=Dirichlet(alpha=2.0))}
        >>> search = GridSearchCV(clf, {"features__outlook__prior__alpha": [0.5, 1.0, 2.0]}, cv=3)
        >>> sorted(search.fit(X, y).best_params_)
        ['features__outlook__prior__alpha']
        """
        nested = {name: value for name, value in params.items() if name.partition("__")[0] in NESTED and "__" in name}
        super().set_params(**{name: value for name, value in params.items() if name not in nested})
        # Shorter names come first, so that a new family gets the parameters that are set within it.
        for path, value in sorted(nested.items(), key=lambda item: item[0].count("__")):
            name, _, rest = path.partition("__")
            setattr(self, name, _with_param(name, getattr(self, name), rest, value))
        return self

    # Results of learning; documented in the docstring of the class.
    classes_ = _held(lambda c: c.classes)
    class_count_ = _held(lambda c: c.statistics.rows)
    posterior_ = _held(lambda c: c.posterior)
    n_features_in_ = _held(lambda c: len(c.schema.raw))
    feature_names_in_ = _held(lambda c: c.feature_names)
    exponents_ = _held(lambda c: c.exponents_, Classifier.exponents_.__doc__)
    log_evidence_ = _held(lambda c: c.log_evidence_, Classifier.log_evidence_.__doc__)

    @property
    def classifier_(self) -> Classifier:
        """Everything learned, as a frozen object that later rows do not change.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X[:10], y[:10])
        >>> monday = clf.classifier_
        >>> clf = clf.partial_fit(X[10:], y[10:])
        >>> monday.predict_proba(X[:1]).round(2), clf.predict_proba(X[:1]).round(2)
        (array([[0.81, 0.19]]), array([[0.7, 0.3]]))
        """
        if (held := self.__dict__.get("_classifier")) is None:
            check_is_fitted(self)
        settings = {name: getattr(self, parameter) for name, parameter in learned.SET_AFTER_FIT.items()}
        same = all(getattr(held, name) is value for name, value in settings.items())
        held = held if same else replace(held, **settings)
        return held if held.believed.estimate == self.estimate else held.with_estimate(self.estimate)

    if not TYPE_CHECKING:  # A type checker that sees __getattr__ would accept every attribute name.

        def __getattr__(self, name: str) -> Any:
            """Raise an error; for an attribute of another library's classifiers, suggest the equivalent attribute."""
            cure = THEIRS.get(name)
            if cure is None and (asked := QUESTIONS.get(name)):
                cure = f"bayesnb.{asked.module}.{name}(clf, ...)"
            if cure:
                raise AttributeError(f"BayesianNB has no {name!r}: use {cure}", name=name, obj=self)
            return object.__getattribute__(self, name)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of rows that :meth:`predict` classifies correctly.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> round(BayesianNB().fit(X, y).score(X, y), 3)
        0.929
        """
        y, X = given_beside(X, {"y": y})
        target = read_target(y, self.classifier_.unlabelled_rows.marker)
        target.require_labels("a score needs the true class")
        target = target.or_unknown(self.classes_, self.classifier_.unknown)
        return ClassifierMixin.score(self, X, target.classes[target.codes], sample_weight)

    def __getstate__(self) -> dict[str, Any]:
        # A copy is consistent even if another thread is learning.
        return vars(self).copy()

    def __sklearn_is_fitted__(self) -> bool:
        return "_classifier" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        by_type = self.features in (None, "best") or isinstance(self.features, ByType | BestFamily)
        tags.input_tags.sparse = by_type or getattr(self.features, "reads_sparse", False)
        return tags

    def save(self, path: str | os.PathLike, replacing: bool = False) -> str:
        """Write the model to a safetensors file, and return its content hash.

        The file holds sums over the rows. With ``dependence="auto"`` or ``Exponents(kernel=True)``, and at most 4,096
        rows, the file also holds every row and its class, so a file about people is not anonymous. "auto-counts" stores
        no rows. Writing is atomic.

        Parameters
        ----------
        path : path
            Any name; ".bayesnb" is usual.
        replacing : bool
            Whether to raise :class:`bayesnb.errors.ModelChangedError` if the file at ``path`` has changed since this
            estimator was last loaded from ``path`` or saved to it. If it was neither, the file is replaced.

        Raises
        ------
        ValueError
            If a value cannot be written: a function as a prior of ``FromPyMC``, or a generator as ``random_state``. If
            ``estimate``, ``class_prior`` or ``unknown`` was changed after the fit, because predictions still use the
            old value.
        OSError
            If the folder does not exist or cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from bayesnb import BayesianNB, datasets, describe
        >>> path = Path(tempfile.mkdtemp()) / "tennis.bayesnb"
        >>> clf = BayesianNB().fit(*datasets.play_tennis())
        >>> clf.save(path) == describe(path)["content_hash"]
        True
        """
        file, known = os.path.realpath(path), self.__dict__.get("_content_hashes", {})
        held = self.classifier_
        wanted, label = EstimatorParameters.of(self).label_prior, held.posterior.model.label
        for name, counts in (
            ("estimate", self.estimate == held.estimate),
            ("class_prior", same(of_known_classes(wanted), of_known_classes(label))),
            ("unknown", same(wanted, label)),
        ):
            if not counts:
                raise ValueError(
                    f"{name} was set after the rows were learned, and predictions do not use it yet; those of a file "
                    "would: fit again, or make it count for the rows that were learned, with discount(1.0)"
                )
        contents = document.Contents.of(self.get_params(deep=False), held)
        written = document.write(contents, path, known.get(file) if replacing else None)
        self._content_hashes = {**known, file: written}
        return written


def load(path: str | os.PathLike) -> BayesianNB:
    """Load the estimator that was saved in a model file.

    The file does not contain the result of EM.

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If the file is not a model file, was cut short or changed, has a newer format, or holds an impossible model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> path = Path(tempfile.mkdtemp()) / "tennis.bayesnb"
    >>> _ = nb.BayesianNB().fit(X, y).save(path)
    >>> nb.load(path).predict(X[:3])
    array(['no', 'no', 'yes'], dtype=object)
    """
    parameters, classifier, content_hash = learned.of_file(path)
    clf = BayesianNB(**parameters.by_name())
    clf._features, clf._classifier = clf.features, classifier
    clf._content_hashes = {os.path.realpath(path): content_hash}
    return clf


def from_draws[M: (BayesianNB, Classifier)](model: M, tree: DataTree) -> M:
    """Return a model whose posterior is the draws in ``tree``, for example the draws of an edited ``to_pymc()`` model.

    Parameters
    ----------
    model : BayesianNB or Classifier
        The fitted model, which is not changed.
    tree : DataTree
        Its group ``posterior`` has the variables and dimensions of ``model.to_pymc()``.

    Returns
    -------
    BayesianNB or Classifier
        A model that can be saved and predicts as usual. Methods that need a closed form, or add or remove rows, raise
        :class:`bayesnb.errors.NoClosedFormError`.

    Raises
    ------
    ValueError
        If a variable is missing or has wrong dimensions, classes, columns or levels; if the model has a dependence; or
        if the estimate is "map" or "mle", because draws do not have a mode.

    Warns
    -----
    UserWarning
        The returned model warns if chains did not converge, or if a predicted probability has a Monte Carlo standard
        error above 0.01.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> clf = nb.BayesianNB(random_state=0).fit(X, y)
    >>> drawn = nb.from_draws(clf, clf.sample_posterior())  # or the tree of pymc.sample
    >>> clf.predict_proba(X[:1]).round(2), drawn.predict_proba(X[:1]).round(2)
    (array([[0.7, 0.3]]), array([[0.7, 0.3]]))
    """
    from bayesnb.sampling import draws

    learned = model.classifier_.with_draws(draws.posterior_of(tree, model.classifier_.posterior.fitted))
    if isinstance(model, Classifier):
        return learned
    found = copy.copy(model)
    found._classifier = learned
    return found


# Nested parameters, for grid searches: ``features__age__prior__alpha`` is the field ``alpha`` of the prior of the
# family of the column ``age``.


def _deep_params(name: str, value: Any) -> dict[str, Any]:
    """Return {path: parameter} for the parameters nested in an object, such as a family."""
    found: dict[str, Any] = {}
    for key, inner in _parts(value).items():
        if isinstance(key, str):
            found[f"{name}__{key}"] = inner
            found |= _deep_params(f"{name}__{key}", inner)
    return found


def _with_param(name: str, value: Any, path: str, new: Any) -> Any:
    """Copy a value and replace the parameter at a nested ``path``, such as "age__prior__alpha"."""
    value = made(value) if isinstance(value, str) else value
    parts = _parts(value)
    # The name of a column may contain two underscores, so the longest matching name is used.
    fits = [key for key in parts if path == str(key) or path.startswith(f"{key}__")]
    if not fits:
        asked = path.partition("__")[0]
        close = get_close_matches(asked, map(str, parts), 1)
        cure = f"did you mean {close[0]!r}?" if close else f"it has {list(parts)}" if parts else "it has none"
        if name == "features" and not close:
            cure += f"; give the column a family first, as features={{{asked!r}: ...}}"
        raise ValueError(f"{name} has no parameter {asked!r}: {cure}")
    key = max(fits, key=lambda fit: len(str(fit)))
    rest = path[len(str(key)) + 2 :]
    changed = _with_param(f"{name}__{key}", parts[key], rest, new) if rest else new
    if isinstance(value, Mapping):
        held = value[key]
        return {**value, key: (changed, held[1]) if isinstance(held, tuple) and len(held) == 2 else changed}
    return replace(value, **{key: changed})


def _parts(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return {key: v[0] if isinstance(v, tuple) and len(v) == 2 else v for key, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    return {}
