"""The scikit-learn estimator: its parameters, how it learns, and its files.

:class:`BayesianNB` is the class most users want, and often the only one. What it has learned is one frozen value, its
``classifier_``, which answers every question; a verb that learns puts another in its place.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from weakref import WeakKeyDictionary, WeakSet

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesnb import learning
from bayesnb.data.rows import named_columns
from bayesnb.data.specifications import BestFamily, ByType, Missing, label_prior
from bayesnb.data.targets import read_target
from bayesnb.dependence.exponents import DependenceName, Exponents
from bayesnb.families.family import Family
from bayesnb.families.multinomial import Multinomial
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.methods import FittedModel
from bayesnb.inference.questions import listing_questions
from bayesnb.model import Estimate
from bayesnb.modelfile import document
from bayesnb.nested import deep_params, told_of_unknown_names, with_param
from bayesnb.priors import Array, Dirichlet, FixedProbabilities
from bayesnb.statistics.statistic import same
from bayesnb.wording import warn

if TYPE_CHECKING:
    import pandas as pd

type ClassPrior = (
    Dirichlet | FixedProbabilities | Mapping[Any, float] | pd.Series | Array | Literal["frequencies", "uniform"]
)

NESTED = ("features", "class_prior", "unlabelled")
"""The parameters that have parameters of their own."""


THEIRS = {
    **dict.fromkeys(("theta_", "var_", "sigma_"), 'tables()[column], which has "mean" and "sd"'),
    **dict.fromkeys(("class_log_prior_", "class_prior_"), 'tables()["(class)"], the probabilities of the classes'),
    "feature_log_prob_": "tables()[column], the probabilities of the levels",
    **dict.fromkeys(
        ("feature_count_", "category_count_"), "classifier_.statistics.features[column], or tables()[column]"
    ),
    **dict.fromkeys(("coef_", "intercept_"), "odds.linear_form(clf), which returns weights and intercept"),
}
"""Attributes of other implementations of naive Bayes, and what to ask here."""


_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_LEARNING: WeakSet[Any] = WeakSet()


def _without_locks() -> None:
    """Forget the locks in a forked process, in which the threads that held them do not run."""
    _LOCKS.clear()
    _LEARNING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_without_locks)


def one_at_a_time[Verb: Callable[..., Any]](verb: Verb) -> Verb:
    """Let one thread at a time learn into an estimator: the next one waits, and adds to what the first has learned.

    Rows that come from an iterator cannot be read again, so a verb that finds the estimator changed could not start
    over; hence a lock. The locks are kept outside the estimators, so that these can still be copied and pickled. The
    type is that of the verb itself, so that an editor knows what ``fit`` returns.

    Raises
    ------
    RuntimeError
        If rows are learned while the same thread learns into the same estimator, as an iterator of frames might: they
        would be lost.
    """

    @wraps(verb)
    def learn(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        with _LOCKS.setdefault(estimator, threading.RLock()):
            if estimator in _LEARNING:
                raise RuntimeError(
                    f"{verb.__name__} was called while this thread was learning into the same estimator: call it "
                    "before or after"
                )
            _LEARNING.add(estimator)
            try:
                return verb(estimator, *args, **kwargs)
            finally:
                _LEARNING.discard(estimator)

    return cast("Verb", learn)


def _held[T](of: Callable[[Classifier], T], doc: str | None = "") -> T:
    """A property of the estimator that returns the property of its classifier."""
    found: Any = property(lambda self: of(self.classifier_), doc=doc)
    return found


@listing_questions
class BayesianNB(FittedModel, ClassifierMixin, BaseEstimator):
    """Naive Bayes classifier with conjugate priors, for any mixture of column types.

    If you want one of these, call the method that stands beside it.

    *Learn*

    * to learn from a table: :meth:`fit`; from more rows: :meth:`partial_fit`; from another model: :meth:`merge`
    * to unlearn rows: :meth:`forget`; all of them slowly: :meth:`discount`
    * to learn the exponents of dependent columns again: :meth:`learn_exponents`
    * to keep the model in a file: :meth:`save`; to set parameters by name: :meth:`set_params`

    {questions}

    Parameters
    ----------
    features : family, {column: family}, {name: (family, [columns])}, ByType, BestFamily or Missing, optional
        The families of columns that you specify, as objects or by short names such as "poisson". The others get one by
        their type (bool and numbers that are 0 or 1: Bernoulli; text and categories: Categorical; sentences: ``Text``;
        numbers: Gaussian; a sparse matrix: Multinomial), or that of :class:`bayesnb.ByType`. "best" lets the rows
        choose it, and "missing" also counts whether a cell is missing, for all columns or for one:
        :class:`bayesnb.BestFamily`, ``Missing``.
    class_prior : Dirichlet, {label: probability}, Series, array, "frequencies" or "uniform", optional
        Prior of the class probabilities, Dirichlet(1) by default. Probabilities are taken as known, by label or in
        the order of ``classes_``.
    estimate : {"predictive", "mean", "map", "mle"}
        Which probabilities to predict: all parameters integrated out (full Bayes), or a plug-in at the
        posterior mean, at the posterior mode, or at the maximum of the likelihood.
    unseen : {"missing", "new", "error"}
        How to read a level that no fit has seen: as missing, as the level reserved for all new ones, or as an error.
    absent : {"error", "missing"}
        How to read a fitted column that a table to predict does not have.
    columns : {"fixed", "grow"}
        Whether further rows and models may have other columns: a column is missing in rows that do not have it, and a
        word has the count 0 in them.
    unlabelled : label or Unlabelled, optional
        The value in ``y`` that means "no label", beside missing values (None, NaN, pd.NA): -1 in scikit-learn's
        semi-supervised convention. :class:`bayesnb.Unlabelled` also says how much such rows count, and how often EM
        starts.
    random_state : int, Generator or None
        Seed of what is drawn: new rows, parameters, further starts of EM. Predictions need none.
    dependence : {"auto", "auto-counts", "tempered", "weighted", "pairwise"} or Exponents, optional
        How features may depend on each other; by default they are independent given the class. Else each term of naive
        Bayes counts to a power that is learned from the labels (see :class:`bayesnb.Exponents`): one for all features;
        one for each, and for the shape of each column of numbers; or for up to 150 pairs of columns too.
        "auto" averages over naive Bayes, "weighted", "pairwise" with terms of near rows and of random partitions, trees
        that see the label, and a linear model, by their predictions of held-out rows. A model of at most 4,096 rows
        then keeps the cells of all rows; with "auto-counts" it keeps counts only.

    Attributes
    ----------
    classes_ : array (class,)
        Class labels, sorted.
    class_count_ : array (class,)
        Weight of the rows of each class.
    posterior_ : Posterior
        The posterior of the class probabilities and of the parameters of all columns.
    exponents_ : DataFrame
        The exponents and how well they are known; absent without a ``dependence``.
    n_features_in_, feature_names_in_ : int, array of str
    classifier_ : Classifier
        What was learned, as a frozen value: the attributes above, and schema, statistics, target, result of EM and
        choice of families, see :class:`bayesnb.inference.classifier.Classifier`.

    Notes
    -----
    Sample weights are frequency weights: a weight of 2 means that the row was seen twice. (Where "auto"
    leaves rows out in folds, these two stay together; two rows that are equal may not.) If classes are equally
    probable, ``predict`` takes the first. Every row is predicted by itself. Large tables use as many threads as
    ``numba.set_num_threads`` and ``threadpoolctl.threadpool_limits`` allow; their number changes no answer.

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

    @told_of_unknown_names
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

    @one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table, and forget what was learned before.

        Parameters
        ----------
        X : table (row, column)
            pandas, polars, pyarrow, dict of columns, array or scipy.sparse; values may be missing. Or a table that is
            read in parts: a file, folder or glob (Parquet, CSV, Arrow), an iterator of frames, a polars LazyFrame, a
            DuckDB relation, a pyarrow dataset or reader, a Dask DataFrame or a Spark DataFrame.
        y : array (row,), column name, or frame or array (row, class)
            Class labels, or the name of their column of ``X``. Rows without one (missing, or ``unlabelled``) are
            learned from by EM, in memory. Or the share of each class in each row (soft labels), or counts, in
            memory: a frame with a column for each class, or an array whose columns are the classes 0, 1, …
        sample_weight : array (row,) or column name, optional
            Frequency weights, not negative, such as how often each row of a table of counts occurred.

        Warns
        -----
        ConvergenceWarning
            If EM did not converge.

        Notes
        -----
        EM plugs in the parameters of ``estimate``; those of "predictive" are the posterior mean.

        A class exists while rows of it are learned, or because it is named: by ``class_prior``, by a feature's prior
        {class: prior}, by ``classes`` of :meth:`partial_fit`, or by labels of a categorical type. A class without a row
        has the mass that its prior gives it. (EM needs two such classes to have different priors in some feature.)

        A table is read once. The result does not depend on how it is cut into parts: priors that are scaled to the
        data (unit information) are scaled to all rows. Only what cannot wait for the last row is that of the first
        part: the cells of a ``PolyaTree``, the levels of an ``Ordinal`` without an order, and the families of "best".

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).class_count_
        array([5., 9.])
        """
        learned = learning.fitted(self, X, y, sample_weight)
        self.__dict__.pop("_content_hash", None)
        self._features, self._classifier = self.features, learned
        if learned.em is not None and not learned.em.converged:
            warn(f"{learned.em}: its responsibilities may still change", ConvergenceWarning)
        return self

    @one_at_a_time
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in any form that :meth:`fit` takes. They may have new classes and new levels.

        ``classes`` may name classes that have no row yet. It is optional, even in the first call.

        Warns
        -----
        UserWarning
            If ``features`` was set after the first rows were learned: their families and priors are kept.

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
        after = learning.with_rows(self, before, X, y, classes, sample_weight)
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
        """Unlearn rows that were learned, exactly: as if they had never been seen.

        A class whose last row is unlearned is gone, unless it is named (see :meth:`fit`); so is a word, and a level,
        unless a prior or a categorical type names it. (Levels stay where the cells of shapes and pairs are counted.)

        Raises
        ------
        ValueError
            Where it can be seen that the rows were never learned, or if no class is left; nothing is changed then.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).forget(X[:2], y[:2]).class_count_
        array([3., 9.])
        """
        self._classifier = learning.without_rows(self, self.classifier_, X, y, sample_weight)
        return self

    @one_at_a_time
    def merge(self, other: BayesianNB) -> Self:
        """Add what another estimator has learned from other rows, as if this one had seen them too.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X[:6], y[:6]).merge(BayesianNB().fit(X[6:], y[6:])).class_count_
        array([5., 9.])
        """
        check_is_fitted(other)
        self._classifier = learning.merged(self, self.classifier_, other.classifier_)
        return self

    @one_at_a_time
    def discount(self, factor: float) -> Self:
        """Multiply the weight of every row learned so far by a factor between 0 and 1, to forget slowly.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).discount(0.5).class_count_
        array([2.5, 4.5])
        """
        self._classifier = learning.discounted(self, self.classifier_, factor)
        return self

    @one_at_a_time
    def learn_exponents(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the exponents again, from rows that were learned: all of them or a sample, in memory.

        The methods above change the counts and keep the exponents; this one does the opposite. Only if there were no
        exponents before, or another ``dependence``, are shapes and pairs counted from these rows too.

        Raises
        ------
        ValueError
            If ``dependence`` is None, or where it can be seen that the rows were never learned.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB(dependence="weighted").fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
        >>> clf.exponents_.attrs["older"], clf.learn_exponents(X, y).exponents_.attrs["older"]
        (True, False)
        """
        self._classifier = learning.with_exponents(self, self.classifier_, X, y, sample_weight)
        return self

    # Parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; if ``deep``, also those within them, such as ``features__age__prior__alpha``.

        Examples
        --------
        >>> from bayesnb import BayesianNB, Poisson
        >>> [name for name in BayesianNB({"age": Poisson()}).get_params() if name.startswith("features__")]
        ['features__age', 'features__age__prior', 'features__age__prior__alpha', 'features__age__prior__beta',
         'features__age__prior__tuned', 'features__age__exposure']
        """
        params = super().get_params(deep=False)
        nested = [deep_params(name, params[name]) for name in NESTED] if deep else []
        return {**params, **{name: value for found in nested for name, value in found.items()}}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, also those of families and priors, for a grid search.

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
        # The shorter names first, so that a family that is set keeps the parameters that are set within it.
        for path, value in sorted(nested.items(), key=lambda item: item[0].count("__")):
            name, _, rest = path.partition("__")
            setattr(self, name, with_param(name, getattr(self, name), rest, value))
        return self

    # What was learned; documented in the docstring of the class.
    classes_ = _held(lambda c: c.classes)
    class_count_ = _held(lambda c: c.statistics.rows)
    posterior_ = _held(lambda c: c.posterior)
    n_features_in_ = _held(lambda c: c.n_features)
    feature_names_in_ = _held(lambda c: c.feature_names)
    exponents_ = _held(lambda c: c.exponents_, Classifier.exponents_.__doc__)
    log_evidence_ = _held(lambda c: c.log_evidence_, Classifier.log_evidence_.__doc__)

    @property
    def classifier_(self) -> Classifier:
        """What was learned, as a frozen value: it answers the same questions, and no later row changes it.

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
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        held, settings = self._classifier, learning.asked_with(self)
        return (
            held if all(getattr(held, name) is value for name, value in settings.items()) else replace(held, **settings)
        )

    if not TYPE_CHECKING:  # A checker that sees it takes every name for an attribute.

        def __getattr__(self, name: str) -> Any:
            """For an attribute of another library, raise an error that names its counterpart here."""
            if name in THEIRS:
                raise AttributeError(f"BayesianNB has no {name!r}: ask {THEIRS[name]}", name=name, obj=self)
            return object.__getattribute__(self, name)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that :meth:`predict` gets right.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> round(BayesianNB().fit(X, y).score(X, y), 3)
        0.929
        """
        y, X = named_columns(X, {"y": y})
        target = read_target(y)
        target.require_labels("a score needs the true class")
        return ClassifierMixin.score(self, X, target.classes[target.codes], sample_weight)

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold; it is taken at once, though another thread may be learning."""
        return vars(self).copy()

    def __sklearn_is_fitted__(self) -> bool:
        return "_classifier" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        by_type = self.features in (None, "best") or isinstance(self.features, ByType | BestFamily)
        reads = isinstance(self.features, Multinomial) or getattr(self.features, "reads_sparse", False)
        tags.input_tags.sparse = by_type or reads
        return tags

    def save(self, path: str | os.PathLike, replacing: bool = False) -> str:
        """Write a model file, and return its content hash. It holds the parameters and what was learned, and no rows.

        The file is in the safetensors format. At every moment ``path`` holds the old file or the whole new one.

        Parameters
        ----------
        path : path
            Any name; ".bayesnb" is usual.
        replacing : bool
            Write only if ``path`` still holds the model that this one was loaded from or saved to. If it was changed
            since, it is kept, and :class:`bayesnb.errors.ModelChangedError` is raised.

        Raises
        ------
        ValueError
            For what no file can hold: a function as a prior of ``FromPyMC``, a generator as ``random_state``. If
            ``estimate`` or ``class_prior`` was set after the rows were learned, and does not count yet.

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
        read = self.__dict__.get("_content_hash", "") if replacing else None
        learned = self.classifier_
        for name, counts in (
            ("estimate", self.estimate == learned.estimate),
            ("class_prior", same(label_prior(self), learned.posterior.model.label)),
        ):
            if not counts:
                raise ValueError(
                    f"{name} was set after the rows were learned, and predictions do not use it yet; those of a file "
                    "would: fit again, or make it count for the rows that were learned, with discount(1.0)"
                )
        contents = document.Contents.of(self.get_params(deep=False), learned)
        self._content_hash = document.write(contents, path, read)
        return self._content_hash


def load(path: str | os.PathLike) -> BayesianNB:
    """Load the estimator of a model file, as it was saved, except for the result of EM. The file is checked first.

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
    parameters, learned, content_hash = learning.of_file(path)
    clf = holding(parameters, learned)
    clf._content_hash = content_hash
    return clf


def holding(parameters: learning.Parameters, learned: Classifier) -> BayesianNB:
    """An estimator with this classifier and these parameters."""
    clf = BayesianNB(**parameters.by_name())
    clf._features, clf._classifier = clf.features, learned
    return clf
