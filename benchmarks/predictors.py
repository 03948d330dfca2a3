"""The methods that ``benchmarks.prediction`` compares: each gives class probabilities of new rows.

A method is a function of the real columns and levels of the learned rows, their class codes, and the real columns and
levels of the new rows. Packages that only peers need are imported where they are used; ``benchmarks.prediction`` lists
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bayesnb import BayesianNB, Categorical, Gaussian
from bayesnb.dependence.learned import learn
from bayesnb.errors import UnseenLevelWarning
from bayesnb.families import Mixture, MultivariateGaussian, PolyaTree
from bayesnb.families.family import Family
from bayesnb.families.trials import Coded
from bayesnb.model import NaiveBayes
from bayesnb.statistics.membership import Labels

type Array = np.ndarray
type Method = Callable[[pd.DataFrame, Array, pd.DataFrame], Array]

GAUSSIAN = Gaussian()


def real(x: pd.DataFrame) -> list[str]:
    """The columns of numbers."""
    return list(x.columns[[kind.kind == "f" for kind in x.dtypes]])


def levels(x: pd.DataFrame) -> list[str]:
    """The columns of text."""
    return [name for name in x.columns if name not in real(x)]


def coded(learned: pd.DataFrame, new: pd.DataFrame) -> tuple[Array, Array, list[tuple[str, ...]]]:
    """Codes of the levels of both tables, -1 for what was not seen, and the names of the levels."""
    names = [tuple(sorted(learned[name].dropna().unique())) for name in levels(learned)]
    both = []
    for x in (learned, new):
        codes = [pd.Index(of, dtype=object).get_indexer(x[name]) for name, of in zip(levels(x), names, strict=True)]
        both.append(np.array(codes, np.intp).reshape(len(names), len(x)).T)
    return both[0], both[1], names


def ours(dependence: str | None, of_reals: Family = GAUSSIAN) -> Method:
    """Naive Bayes with categorical columns and numbers of a family, and what depends on what as asked."""

    def method(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
        a, b, names = coded(x, new)
        features: dict[str, Any] = {}
        data: dict[str, Any] = {}
        asked: dict[str, Any] = {}
        if real(x):
            data["reals"], asked["reals"] = (t[real(x)].to_numpy(float) for t in (x, new))
            features["reals"] = of_reals.placed(data["reals"].T, None)
        if names:
            features["levels"] = Categorical()
            data["levels"], asked["levels"] = Coded(a, tuple(names)), Coded(b, tuple(names))
        labels, model = Labels.of(y), NaiveBayes(features)
        posterior = model.posterior(model.statistics(data, labels, range(labels.n)))
        if dependence is not None:
            return np.exp(learn(posterior, data, labels, dependence).log_proba(posterior, asked, len(new)))
        joint = posterior.log_predictive(asked, len(new))
        return np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))

    return method


def best_families(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
    """Naive Bayes whose columns of numbers choose their families for the class."""
    return answered(BayesianNB("best"), x, y, new)


def answered(clf: BayesianNB, x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
    """What an estimator that has learned some rows says of new ones, (row, code of the class)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        clf.fit(x, y)
        found = np.zeros((len(new), y.max() + 1))
        found[:, clf.classes_] = clf.predict_proba(new)
    return found


def scikit_naive_bayes(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
    """GaussianNB of the numbers times CategoricalNB of the levels, the class prior once."""
    from sklearn.naive_bayes import CategoricalNB, GaussianNB

    joint = np.zeros((len(new), y.max() + 1))
    a, b, names = coded(x, new)
    if real(x):
        joint += GaussianNB().fit(x[real(x)], y).predict_joint_log_proba(new[real(x)])
    if names:
        # A level that was not seen, or is missing, is one more level.
        several = [len(of) + 1 for of in names]
        a, b = (np.where(c < 0, np.array(several) - 1, c) for c in (a, b))
        joint += CategoricalNB(min_categories=several).fit(a, y).predict_joint_log_proba(b)
    if real(x) and names:
        joint -= np.log(np.bincount(y) / len(y))
    return np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


def scikit(make: Callable[[], Any], scaled: bool = False) -> Method:
    """A classifier of scikit-learn on the numbers and the indicators of the levels."""

    def method(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        numbers = StandardScaler() if scaled else "passthrough"
        columns = make_column_transformer((numbers, real(x)), (hot, levels(x)))
        return make_pipeline(columns, make()).fit(x, y).predict_proba(new)

    return method


def logistic_regression() -> Any:
    """Logistic regression with enough steps."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000)


def random_forest() -> Any:
    """300 trees, else the defaults."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(300, random_state=0)


def gradient_boosting() -> Any:
    """Histogram gradient boosting, the defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def khiops(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
    """Khiops' selective naive Bayes, without trees; it wants classes as text."""
    from khiops.sklearn import KhiopsClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = KhiopsClassifier(n_trees=0).fit(x, np.char.mod("c%03d", y))
        return found.predict_proba(new)


def scikit_bayes(name: str, **parameters: Any) -> Method:
    """A method of scikit-bayes, told which columns are categorical."""

    def method(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
        import skbn

        a, b, names = coded(x, new)
        tables = [np.column_stack([t[real(x)].to_numpy(float), np.maximum(c, 0)]) for t, c in ((x, a), (new, b))]
        n = len(real(x))
        which = list(range(n, n + len(names)))
        found = getattr(skbn, name)(categorical_features=which or None, **parameters)
        return found.fit(tables[0], y).predict_proba(tables[1])

    return method


def explainable_boosting(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
    """interpret's explainable boosting machine, the defaults."""
    from interpret.glassbox import ExplainableBoostingClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ExplainableBoostingClassifier(random_state=0, n_jobs=1).fit(x, y).predict_proba(new)


def tree_augmented(x: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
    """pyAgrum's tree-augmented naive Bayes, of levels and of five quantile bins of each number.

    It refuses a level that it has not seen, and a gap: both are answered as the column's most frequent level.
    """
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    learned, asked = {}, {}
    for name in x:
        columns = [x[name], new[name]]
        if name in real(x):
            edges = np.unique(x[name].quantile([0.2, 0.4, 0.6, 0.8]))
            columns = [
                pd.Series(np.searchsorted(edges, column), column.index).where(column.notna()) for column in columns
            ]
        seen = columns[0].dropna()
        both = [column.where(column.isin(seen), seen.mode()[0]) for column in columns]
        learned[name], asked[name] = ("level " + column.astype(str) for column in both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = BNClassifier(type_processor=DiscreteTypeProcessor(), learningMethod="TAN", prior="Smoothing")
        return found.fit(pd.DataFrame(learned), y).predict_proba(pd.DataFrame(asked))


WITHOUT_PEERS: dict[str, Method] = {
    "naive Bayes": ours(None),
    "naive Bayes of Pólya trees": ours(None, PolyaTree()),
    "naive Bayes of Gaussians or Pólya trees": ours(None, Mixture([Gaussian(), PolyaTree()])),
    "naive Bayes of a block": ours(None, MultivariateGaussian()),
    "naive Bayes of best families": best_families,
    "weighted Pólya trees": ours("weighted", PolyaTree()),
    "weighted Gaussians or Pólya trees": ours("weighted", Mixture([Gaussian(), PolyaTree()])),
    "weighted block": ours("weighted", MultivariateGaussian()),
    "pairwise Pólya trees": ours("pairwise", PolyaTree()),
    "pairwise Gaussians or Pólya trees": ours("pairwise", Mixture([Gaussian(), PolyaTree()])),
    "tempered": ours("tempered"),
    "weighted": ours("weighted"),
    "pairwise": ours("pairwise"),
    "scikit-learn naive Bayes": scikit_naive_bayes,
    "logistic regression": scikit(logistic_regression, scaled=True),
    "random forest": scikit(random_forest),
    "gradient boosting": scikit(gradient_boosting),
}
"""Methods of this package and of scikit-learn, which need no further package."""

METHODS: dict[str, Method] = WITHOUT_PEERS | {
    "Khiops": khiops,
    "scikit-bayes AnDE": scikit_bayes("AnDE"),
    "scikit-bayes ALR": scikit_bayes("ALR", n_dependence=0),
    "explainable boosting": explainable_boosting,
    "pyAgrum TAN": tree_augmented,
}
