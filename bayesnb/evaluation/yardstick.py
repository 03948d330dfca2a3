"""Compare a method's uncertainty about class probabilities with the exact uncertainty, on simulated tables."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from bayesnb.estimator import BayesianNB
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.trials import Bernoulli, Categorical
from bayesnb.inference.draws import probability_of_interval, sample_proba
from bayesnb.inference.sample import sample
from bayesnb.numerics import Array
from bayesnb.priors import Beta, Dirichlet, NormalGamma
from bayesnb.progress import Progress

type Method = Callable[[pd.DataFrame, Array, pd.DataFrame, Generator], Array]
"""A function (X, y, asked, rng), described in :func:`yardstick`."""

DRAWS = 400
"""Largest number of draws per method; more draws are thinned."""

GRID = (np.arange(DRAWS) + 0.5) / DRAWS
"""Probabilities of the quantiles by which two distributions are compared."""


@dataclass(frozen=True)
class World:
    """A model from which tables with two classes are drawn.

    Parameters
    ----------
    features : {column: Family}
        The families of the columns, with proper priors. The prior of the class probabilities is Dirichlet(1).
    seen : function
        An invertible transformation of all rows, such as repeating columns. Methods only see transformed rows.
    true : bool
        Whether naive Bayes is correct for the transformed rows.
    """

    features: Mapping[str, Any]
    seen: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows
    true: bool = True

    def estimator(self) -> BayesianNB:
        """The model that generates tables, before their rows are transformed by ``seen``."""
        return BayesianNB(dict(self.features), class_prior=Dirichlet({0: 1.0, 1: 1.0}))


def repeated(rows: pd.DataFrame) -> pd.DataFrame:
    """Add two copies of each column."""
    return pd.concat([rows, rows.add_suffix(" again"), rows.add_suffix(" once more")], axis=1)


NORMALS = {f"x{k}": Gaussian(NormalGamma(0.0, 3.0, 3.0, 3.0)) for k in range(4)}
LEVELS = {f"c{k}": Categorical(Dirichlet({"a": 1.0, "b": 1.0, "c": 1.0})) for k in range(5)}
BOTH = {name: (NORMALS | LEVELS)[name] for name in ("x0", "x1", "c0", "c1")} | {"b": Bernoulli(Beta(1, 1))}

WORLDS: Mapping[str, World] = MappingProxyType(
    {
        "numbers": World(NORMALS),
        "levels": World(LEVELS),
        "both": World(BOTH),
        "repeated numbers": World(NORMALS, repeated, true=False),
        "repeated levels": World(LEVELS, repeated, true=False),
        "skewed numbers": World(NORMALS, np.exp, true=False),
    }
)
"""Three worlds (models of tables) in which naive Bayes is correct, and three in which it is wrong."""


def ours(**parameters: Any) -> Method:
    """A method that fits a BayesianNB with ``parameters`` and draws p(class 1 | row, θ)."""

    def method(X: pd.DataFrame, y: Array, asked: pd.DataFrame, rng: Generator) -> Array:
        clf = BayesianNB(random_state=int(rng.integers(2**31)), **parameters).fit(X, y)
        return sample_proba(clf, asked, draws=DRAWS)[:, :, 1]

    return method


def bootstrap(classifier: Any, times: int = 100) -> Method:
    """A method that refits a scikit-learn classifier to rows drawn with replacement (Efron 1979)."""

    def method(X: pd.DataFrame, y: Array, asked: pd.DataFrame, rng: Generator) -> Array:
        (x, new), found = _as_numbers(X, asked), []
        while len(found) < times:
            rows = rng.integers(len(y), size=len(y))
            if len(np.unique(y[rows])) == 2:
                found.append(_proba(classifier, x[rows], y[rows], new, rng))
        return np.array(found)

    return method


def members(classifier: Any, times: int = 100) -> Method:
    """A method that fits a classifier with several seeds (deep ensembles, Lakshminarayanan et al. 2017)."""

    def method(X: pd.DataFrame, y: Array, asked: pd.DataFrame, rng: Generator) -> Array:
        x, new = _as_numbers(X, asked)
        return np.array([_proba(classifier, x, y, new, rng) for _ in range(times)])

    return method


def laplace(C: float = 1.0) -> Method:
    """Logistic regression with a normal approximation of its posterior (MacKay 1992; Bishop 2006, section 4.5)."""

    def method(X: pd.DataFrame, y: Array, asked: pd.DataFrame, rng: Generator) -> Array:
        from scipy.special import expit
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        numbers = _as_numbers(X, asked)
        scaler = StandardScaler().fit(numbers[0])
        x, x_new = map(scaler.transform, numbers)
        fitted = LogisticRegression(C=C).fit(x, y)
        rows, new = (np.column_stack([part, np.ones(len(part))]) for part in (x, x_new))
        p = fitted.predict_proba(x)[:, 1]
        # The intercept has no prior, so its precision comes from the rows alone.
        curvature = (rows.T * (p * (1 - p))) @ rows + np.diag([1 / C] * x.shape[1] + [0.0])
        mode = np.append(fitted.coef_[0], fitted.intercept_)
        return expit(rng.multivariate_normal(mode, np.linalg.inv(curvature), DRAWS) @ new.T)

    return method


def venn_abers(classifier: Any) -> Method:
    """A method that returns the interval of inductive Venn-Abers prediction (Vovk and Petej 2014)."""

    def method(X: pd.DataFrame, y: Array, asked: pd.DataFrame, rng: Generator) -> Array:
        from sklearn.isotonic import isotonic_regression
        from sklearn.model_selection import train_test_split

        x, x_new = _as_numbers(X, asked)
        seed = int(rng.integers(2**31))
        fit, rest = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
        scores = _proba(classifier, x[fit], y[fit], np.concatenate([x[rest], x_new]), rng)
        known, new = np.split(scores, [len(rest)])
        ends = np.empty((len(new), 2))
        for row, score in enumerate(new):
            order = np.argsort(np.append(known, score), kind="stable")
            place = int(np.flatnonzero(order == len(known))[0])
            for label in (0, 1):
                ends[row, label] = isotonic_regression(np.append(y[rest], label)[order].astype(float))[place]
        return ends

    return method


def _as_numbers(X: pd.DataFrame, asked: pd.DataFrame) -> tuple[Array, Array]:
    both = pd.get_dummies(pd.concat([X, asked]), dtype=float).to_numpy()
    return both[: len(X)], both[len(X) :]


def _proba(classifier: Any, X: Array, y: Array, asked: Array, rng: Generator) -> Array:
    from sklearn.base import clone

    fresh: Any = clone(classifier)
    if "random_state" in fresh.get_params():
        fresh.set_params(random_state=int(rng.integers(2**31)))
    return fresh.fit(X, y).predict_proba(asked)[:, 1]


def yardstick(
    methods: Method | Mapping[str, Method],
    worlds: Mapping[str, World] | None = None,
    tables: int = 40,
    rows: int = 40,
    asked: int = 25,
    prob: float | None = None,
    random_state: int = 0,
) -> pd.DataFrame:
    """Score how well methods quantify the uncertainty of class probabilities, on simulated tables.

    Parameters
    ----------
    methods : function or {name: function}
        A method is a function (X, y, asked, rng) that learns from a table with classes 0 and 1 and predicts the rows
        ``asked``. Methods return draws of p(1 | row) as an array (draw, row), or interval ends as an array (row, 2). At
        most 400 draws are used. ``bayesnb.evaluation.yardstick`` provides ``ours``, ``bootstrap``, ``members``,
        ``laplace``, ``venn_abers``.
    worlds : {name: World}, optional
        ``WORLDS`` by default: naive Bayes is correct in three of them, and wrong in three.
    tables : int
        Number of tables per world.
    rows, asked : int
        Numbers of learned and of predicted rows per table.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    random_state : int

    Returns
    -------
    DataFrame ((world, method), ...)
        ``coverage``, ``width``, ``crps`` and ``distance``, each with its standard error over tables (``se_…``);
        ``level``, ``draws``, ``seconds`` and ``true`` (whether naive Bayes is correct). See
        ``docs/how-to/is-your-uncertainty-right.md``. The method "exact" draws from the exact posterior.

    Raises
    ------
    TypeError
        If a method is not a function, or a world is not a ``World``.
    ValueError
        If the result of a method has the wrong shape, or has fewer than two draws.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from bayesnb.evaluation.yardstick import WORLDS, bootstrap, yardstick
    >>> methods = {"bootstrap of GaussianNB": bootstrap(GaussianNB(), 20)}
    >>> found = yardstick(methods, {"numbers": WORLDS["numbers"]}, tables=6)
    >>> bool(found.loc[("numbers", "bootstrap of GaussianNB"), "coverage"] < 0.85)
    True
    """
    named = dict(methods) if isinstance(methods, Mapping) else {getattr(methods, "__name__", "method"): methods}
    if odd := [name for name, method in named.items() if not callable(method)]:
        raise TypeError(
            f"Expected methods as a function (X, y, asked, rng) or {{name: function}}, such as yardstick.ours(); got "
            f"{reprlib.repr(named[odd[0]])}"
        )
    if worlds is not None and not (isinstance(worlds, Mapping) and all(isinstance(w, World) for w in worlds.values())):
        raise TypeError(f"Expected worlds as {{name: World}}; got {reprlib.repr(worlds)}")
    worlds, share = WORLDS if worlds is None else worlds, probability_of_interval(prob)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with Progress("drawing tables") as progress:
        progress.total(len(worlds) * tables, "tables")
        for place, (name, world) in enumerate(worlds.items()):
            scores: dict[str, list[dict[str, float]]] = {method: [] for method in ("exact", *named)}
            for seed in np.random.SeedSequence([random_state, place]).spawn(tables):
                rng = np.random.default_rng(seed)
                table = drawn_table(world, rows, asked, rng)
                scores["exact"].append(scored(table.exact[2], table, share) | {"seconds": np.nan})
                for method, answer in named.items():
                    begin = time.process_time()
                    law = np.asarray(answer(table.X, table.y, table.asked, rng), float)
                    seconds = time.process_time() - begin
                    if law.shape != (asked, 2) and (law.ndim != 2 or law.shape[1] != asked or len(law) < 2):
                        raise ValueError(
                            f"method {method!r}: Expected at least two draws (draw, {asked}) or ends of intervals "
                            f"({asked}, 2); got an array of the shape {law.shape}"
                        )
                    scores[method].append(scored(law, table, share) | {"seconds": seconds})
                progress.add(1)
            for method, of_tables in scores.items():
                mean = (frame := pd.DataFrame(of_tables)).mean()
                error = frame[["coverage", "width", "crps", "distance"]].sem().add_prefix("se_")
                found[name, method] = {"true": world.true, **mean, **error}
    return pd.DataFrame.from_dict(found, orient="index").rename_axis(["world", "method"])


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """A simulated table, and further rows to predict."""

    X: pd.DataFrame
    y: Array
    asked: pd.DataFrame
    truth: Array  # p(1 | row, θ) of the rows to predict
    exact: tuple[Array, Array, Array]  # three samples (draw, row) of the exact posterior of p(1 | row, θ)


def drawn_table(world: World, rows: int, asked: int, rng: Generator) -> DrawnTable:
    """Simulate a table from a world, with at least two rows of each class."""
    # A schema needs a table: two rows with arbitrary cells suffice, because the priors are given.
    levels = {name: family.prior.alpha for name, family in world.features.items() if isinstance(family, Categorical)}
    start = {name: [next(iter(levels[name]))] * 2 if name in levels else [0.0, 1.0] for name in world.features}
    known = world.estimator().fit(pd.DataFrame(start), [0, 1]).classifier_
    while True:
        theta = known.posterior.before().draw(rng, (1,)).at(0)
        believed = replace(known.believed, estimate="mean", plug_in=theta)
        at_theta = replace(known, believed=believed, seed=int(rng.integers(2**31)))
        drawn = sample(at_theta, rows + asked)
        y = drawn.pop("y").to_numpy()[:rows]
        if np.bincount(y, minlength=2).min() >= 2:
            break
    learned, new = drawn.iloc[:rows], drawn.iloc[rows:]
    law = world.estimator().set_params(random_state=int(rng.integers(2**31))).fit(learned, y)
    draws = sample_proba(law, new, draws=3 * DRAWS)[:, :, 1]
    truth = at_theta.predict_proba(new)[:, 1]
    seen = [world.seen(part).reset_index(drop=True) for part in (learned, new)]
    return DrawnTable(seen[0], y, seen[1], truth, (draws[::3], draws[1::3], draws[2::3]))


def scored(law: Array, table: DrawnTable, share: float) -> dict[str, float]:
    """Score a method's posterior for one table: ``law`` holds draws, (draw, row), or interval ends, (row, 2)."""
    # If m draws and the truth are exchangeable, the truth falls into each of the m + 1 gaps between draws with the same
    # probability. The interval between two quantiles has the nominal coverage if their ranks, q (m + 1), lie between 1
    # and m.
    found: dict[str, float] = dict.fromkeys(("draws", "coverage", "level", "width", "crps", "distance"), np.nan)
    if law.shape == (len(table.truth), 2):
        ends, found["level"] = law, share
    else:
        m = min(len(law), DRAWS)
        law = np.sort(law[np.arange(m) * len(law) // m], axis=0)
        ends = np.quantile(law, [(1 - share) / 2, (1 + share) / 2], axis=0, method="weibull").T
        its, exact, again = map(_quantiles, (law, table.exact[0], table.exact[1][:m]))
        # E|Q - p| - E|Q - Q'| / 2 (Gneiting and Raftery 2007, equation 21; Ferro 2014 for different Q and Q'). The k-th
        # of the sorted draws (from 0) is the larger one of k pairs and the smaller one of m - 1 - k.
        spread = (2 * np.arange(m) + 1 - m) @ law / (m * (m - 1))
        found |= {
            "draws": m,
            "level": min(share, (m - 1) / (m + 1)),
            "crps": float((np.abs(law - table.truth).mean(0) - spread).mean()),
            # Wasserstein distance of order 1 on a line: the mean absolute difference of the quantiles.
            "distance": float((np.abs(its - exact) - np.abs(again - exact)).mean()),
        }
    low, high = ends.min(axis=1), ends.max(axis=1)
    inside = (low <= table.truth) & (table.truth <= high)
    return found | {"coverage": float(inside.mean()), "width": float((high - low).mean())}


def _quantiles(draws: Array) -> Array:
    return np.sort(draws, axis=0)[np.ceil(len(draws) * GRID).astype(int) - 1]
