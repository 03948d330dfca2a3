"""The methods that ``benchmarks.prediction`` compares: each gives class probabilities of new rows.

A method is a function of the learned rows, a frame of numbers and levels, and of their class codes; it gives a function
of new rows. Everything that a method chooses, it chooses from the learned rows. Packages that only peers need are
imported where they are used; ``benchmarks.prediction`` lists them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesnb import BayesianNB, Categorical, Exponents, Gaussian
from bayesnb.dependence.learning import learn
from bayesnb.errors import UnseenLevelWarning
from bayesnb.families import Mixture, MultivariateGaussian, PolyaTree
from bayesnb.families.family import Family
from bayesnb.families.trials import Coded
from bayesnb.model import NaiveBayes
from bayesnb.statistics.statistic import Labels

type Array = np.ndarray
type Predictor = Callable[[pd.DataFrame], Array]
type Method = Callable[[pd.DataFrame, Array], Predictor]

GAUSSIAN = Gaussian()


def real(x: pd.DataFrame) -> list[str]:
    """The columns of numbers."""
    return list(x.columns[[kind.kind == "f" for kind in x.dtypes]])


def levels(x: pd.DataFrame) -> list[str]:
    """The columns of text."""
    return [name for name in x.columns if name not in real(x)]


def named(x: pd.DataFrame) -> list[tuple[str, ...]]:
    """The names of the levels of each column of text."""
    return [tuple(sorted(x[name].dropna().unique())) for name in levels(x)]


def coded(x: pd.DataFrame, names: list[tuple[str, ...]]) -> Array:
    """Codes of the named levels, (row, column of text), -1 for what has no name."""
    codes = [pd.Index(of, dtype=object).get_indexer(x[name]) for name, of in zip(levels(x), names, strict=True)]
    return np.array(codes, np.intp).reshape(len(names), len(x)).T


def shares(joint: Array) -> Array:
    """Probabilities of the classes from their log joint, (row, class)."""
    return np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


def tuning_splits(y: Array) -> list[tuple[Array, Array]]:
    """Five stratified folds of the learned rows, on which a rival is tuned; of more than 1,000 rows only the first."""
    from sklearn.model_selection import StratifiedKFold

    splits = list(StratifiedKFold(5, shuffle=True, random_state=1).split(y, y))
    return splits if len(y) <= 1_000 else splits[:1]


def ours(dependence: str | None, of_reals: Family = GAUSSIAN) -> Method:
    """Naive Bayes with categorical columns and numbers of a family, and what depends on what as asked."""

    def method(x: pd.DataFrame, y: Array) -> Predictor:
        names = tuple(named(x))

        def data(t: pd.DataFrame) -> dict[str, Any]:
            numbers = {"reals": t[real(x)].to_numpy(float)} if real(x) else {}
            return numbers | ({"levels": Coded(coded(t, list(names)), names)} if names else {})

        learned, features = data(x), dict[str, Any]()
        if "reals" in learned:
            features["reals"] = of_reals.placed(learned["reals"].T, None)
        if names:
            features["levels"] = Categorical()
        labels, model = Labels.of(y), NaiveBayes(features)
        posterior = model.posterior(model.statistics(learned, labels, range(labels.n)))
        if dependence is None:
            return lambda new: shares(posterior.log_predictive(data(new), len(new)))
        exponents = learn(posterior, learned, labels, dependence)
        return lambda new: np.exp(exponents.log_proba(posterior, data(new), len(new)))

    return method


def estimator(*arguments: Any, **named_arguments: Any) -> Method:
    """A :class:`BayesianNB` with these arguments."""

    def method(x: pd.DataFrame, y: Array) -> Predictor:
        clf = BayesianNB(*arguments, **named_arguments).fit(x, y)

        def predict(new: pd.DataFrame) -> Array:
            found = np.zeros((len(new), y.max() + 1))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenLevelWarning)
                found[:, clf.classes_] = clf.predict_proba(new)
            return found

        return predict

    return method


def scikit_naive_bayes(x: pd.DataFrame, y: Array) -> Predictor:
    """GaussianNB of the numbers times CategoricalNB of the levels, the class prior once."""
    from sklearn.naive_bayes import CategoricalNB, GaussianNB

    names = named(x)
    # A level that was not seen, or is missing, is one more level.
    several = [len(of) + 1 for of in names]

    def with_one_more(t: pd.DataFrame) -> Array:
        codes = coded(t, names)
        return np.where(codes < 0, np.array(several) - 1, codes)

    parts: list[Predictor] = []
    if real(x):
        gaussian = GaussianNB().fit(x[real(x)], y)
        parts.append(lambda new: gaussian.predict_joint_log_proba(new[real(x)]))
    if names:
        categorical = CategoricalNB(min_categories=several).fit(with_one_more(x), y)
        parts.append(lambda new: categorical.predict_joint_log_proba(with_one_more(new)))
    twice = (len(parts) - 1) * np.log(np.bincount(y) / len(y))
    return lambda new: shares(sum(part(new) for part in parts) - twice)


def scikit(make: Callable[[Array], Any], scaled: bool = False) -> Method:
    """A classifier of scikit-learn, made for some labels, on the numbers and the indicators of the levels."""

    def method(x: pd.DataFrame, y: Array) -> Predictor:
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        numbers = StandardScaler() if scaled else "passthrough"
        columns = make_column_transformer((numbers, real(x)), (hot, levels(x)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make_pipeline(columns, make(y)).fit(x, y).predict_proba

    return method


def logistic_regression(y: Array) -> Any:
    """Logistic regression with C = 1 and enough steps."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000)


def tuned_logistic_regression(y: Array) -> Any:
    """Logistic regression whose C, of ten between 0.0001 and 10,000, has the best log loss in five folds."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import StratifiedKFold

    inner = StratifiedKFold(5, shuffle=True, random_state=1)
    return LogisticRegressionCV(
        Cs=10, cv=inner, scoring="neg_log_loss", max_iter=1000, l1_ratios=(0.0,), use_legacy_attributes=False
    )


def support_vectors(y: Array) -> Any:
    """Support vectors with a Gaussian kernel and Platt's probabilities; C, of five, by log loss on tuning splits."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}
    return GridSearchCV(SVC(probability=True, random_state=0), grid, scoring="neg_log_loss", cv=tuning_splits(y))


class BoostedRounds(ClassifierMixin, BaseEstimator):
    """LightGBM with a learning rate of 0.03 and as many rounds, at most 3,000, as the tuning splits ask for.

    All learned rows are then fitted with that number of rounds.
    """

    def fit(self, x: Array, y: Array) -> BoostedRounds:
        """Find the number of rounds, and fit."""
        import lightgbm

        n = int(y.max()) + 1
        several = {"objective": "multiclass", "num_class": n} if n > 2 else {"objective": "binary"}
        settings = several | {"learning_rate": 0.03, "num_threads": 1, "verbosity": -1, "seed": 0}
        data, stop = lightgbm.Dataset(x, y), lightgbm.early_stopping(50, verbose=False)
        found = lightgbm.cv(settings, data, 3_000, folds=tuning_splits(y), callbacks=[stop])
        rounds = len(next(iter(found.values())))
        self.booster_ = lightgbm.train(settings, lightgbm.Dataset(x, y), rounds)
        return self

    def predict_proba(self, x: Array) -> Array:
        """Class probabilities, (row, class)."""
        p = self.booster_.predict(x)
        return p if p.ndim == 2 else np.column_stack([1 - p, p])


class TemperedForest(ClassifierMixin, BaseEstimator):
    """A forest of 200 trees, one more vote for the class shares, and one temperature, fitted on out-of-bag shares.

    A forest's shares are exactly 0 where no tree votes for a class, which costs infinitely many nats when it comes
    true, and they are too timid or too sure by a factor that out-of-bag rows tell.
    """

    TREES = 200

    def fit(self, x: Array, y: Array) -> TemperedForest:
        """Grow the trees, and find the temperature."""
        from scipy.optimize import minimize_scalar
        from sklearn.ensemble import RandomForestClassifier

        self.forest_ = RandomForestClassifier(self.TREES, oob_score=True, random_state=0).fit(x, y)
        self.prior_ = np.bincount(y) / len(y)
        left_out, own = self.votes(self.forest_.oob_decision_function_), (np.arange(len(y)), y)
        self.power_ = minimize_scalar(
            lambda power: -np.log(shares(power * left_out)[own]).mean(), bounds=(0.1, 10.0), method="bounded"
        ).x
        return self

    def votes(self, p: Array) -> Array:
        """Log shares with one more vote for the class shares."""
        return np.log((self.TREES * p + self.prior_) / (self.TREES + 1))

    def predict_proba(self, x: Array) -> Array:
        """Class probabilities, (row, class)."""
        return shares(self.power_ * self.votes(self.forest_.predict_proba(x)))


def catboost(x: pd.DataFrame, y: Array) -> Predictor:
    """CatBoost with its own learning rate and as many trees, at most 1,000, as the tuning splits ask for in the middle.

    All learned rows are then fitted with that number of trees.
    """
    from catboost import CatBoostClassifier

    def filled(t: pd.DataFrame) -> pd.DataFrame:
        return t.assign(**{name: t[name].fillna("missing") for name in levels(x)})

    settings: dict[str, Any] = {
        "loss_function": "Logloss" if y.max() == 1 else "MultiClass", "cat_features": levels(x),
        "random_seed": 0, "thread_count": 1, "verbose": False, "allow_writing_files": False,
    }  # fmt: skip
    learned, trees, rates = filled(x), [], []
    for inner, outer in tuning_splits(y):
        tried = CatBoostClassifier(1_000, early_stopping_rounds=50, **settings)
        tried.fit(learned.iloc[inner], y[inner], eval_set=(learned.iloc[outer], y[outer]))
        trees.append(max(1, tried.tree_count_))
        rates.append(tried.get_all_params()["learning_rate"])
    found = CatBoostClassifier(int(np.median(trees)), float(np.median(rates)), **settings).fit(learned, y)
    return lambda new: found.predict_proba(filled(new))


def random_forest(y: Array) -> Any:
    """300 trees, else the defaults."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(300, random_state=0)


def gradient_boosting(y: Array) -> Any:
    """Histogram gradient boosting, the defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def khiops(x: pd.DataFrame, y: Array) -> Predictor:
    """Khiops' selective naive Bayes, without trees; it wants classes as text."""
    from khiops.sklearn import KhiopsClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KhiopsClassifier(n_trees=0).fit(x, np.char.mod("c%03d", y)).predict_proba


def scikit_bayes(name: str, **parameters: Any) -> Method:
    """A method of scikit-bayes, told which columns are categorical."""

    def method(x: pd.DataFrame, y: Array) -> Predictor:
        import skbn

        names, n = named(x), len(real(x))

        def numbers(t: pd.DataFrame) -> Array:
            return np.column_stack([t[real(x)].to_numpy(float), np.maximum(coded(t, names), 0)])

        which = list(range(n, n + len(names)))
        found = getattr(skbn, name)(categorical_features=which or None, **parameters).fit(numbers(x), y)
        return lambda new: found.predict_proba(numbers(new))

    return method


def explainable_boosting(x: pd.DataFrame, y: Array) -> Predictor:
    """interpret's explainable boosting machine, the defaults."""
    from interpret.glassbox import ExplainableBoostingClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ExplainableBoostingClassifier(random_state=0, n_jobs=1).fit(x, y).predict_proba


def tree_augmented(x: pd.DataFrame, y: Array) -> Predictor:
    """pyAgrum's tree-augmented naive Bayes, of levels and of five quantile bins of each number.

    It refuses a level that it has not seen, and a gap: both are answered as the column's most frequent level.
    """
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    edges = {name: np.unique(x[name].quantile([0.2, 0.4, 0.6, 0.8])) for name in real(x)}

    def binned(t: pd.DataFrame) -> pd.DataFrame:
        cut = {name: pd.Series(np.searchsorted(of, t[name]), t.index) for name, of in edges.items()}
        return t.assign(**{name: bins.where(t[name].notna()) for name, bins in cut.items()})

    learned = binned(x)

    def known(t: pd.DataFrame) -> pd.DataFrame:
        columns = binned(t)
        seen = {name: learned[name].dropna() for name in x}
        return pd.DataFrame(
            {
                name: "level " + columns[name].where(columns[name].isin(of), of.mode()[0]).astype(str)
                for name, of in seen.items()
            }
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = BNClassifier(type_processor=DiscreteTypeProcessor(), learningMethod="TAN", prior="Smoothing")
        found.fit(known(x), y)
    return lambda new: found.predict_proba(known(new))


WITHOUT_PEERS: dict[str, Method] = {
    "naive Bayes": ours(None),
    "forests": ours("forests"),
    "forests by class": ours(Exponents(shapes=False, offsets="class", forests="class")),
    "forests of Pólya trees": ours("forests", PolyaTree()),
    "naive Bayes of Pólya trees": ours(None, PolyaTree()),
    "naive Bayes of Gaussians or Pólya trees": ours(None, Mixture([Gaussian(), PolyaTree()])),
    "naive Bayes of a block": ours(None, MultivariateGaussian()),
    "naive Bayes of best families": estimator("best"),
    "weighted Pólya trees": ours("weighted", PolyaTree()),
    "weighted Gaussians or Pólya trees": ours("weighted", Mixture([Gaussian(), PolyaTree()])),
    "weighted block": ours("weighted", MultivariateGaussian()),
    "pairwise Pólya trees": ours("pairwise", PolyaTree()),
    "pairwise Gaussians or Pólya trees": ours("pairwise", Mixture([Gaussian(), PolyaTree()])),
    "tempered": ours("tempered"),
    "weighted": ours("weighted"),
    "pairwise": ours("pairwise"),
    "auto": ours("auto"),
    "scikit-learn naive Bayes": scikit_naive_bayes,
    "logistic regression, defaults": scikit(logistic_regression, scaled=True),
    "logistic regression, tuned": scikit(tuned_logistic_regression, scaled=True),
    "random forest, defaults": scikit(random_forest),
    "random forest, tempered": scikit(lambda y: TemperedForest()),
    "gradient boosting, defaults": scikit(gradient_boosting),
    "support vectors, tuned": scikit(support_vectors, scaled=True),
}
"""Methods of this package and of scikit-learn, which need no further package."""

METHODS: dict[str, Method] = WITHOUT_PEERS | {
    "Khiops": khiops,
    "scikit-bayes AnDE": scikit_bayes("AnDE"),
    "scikit-bayes ALR": scikit_bayes("ALR", n_dependence=0),
    "LightGBM, tuned": scikit(lambda y: BoostedRounds()),
    "CatBoost, tuned": catboost,
    "explainable boosting, defaults": explainable_boosting,
    "pyAgrum TAN": tree_augmented,
}
