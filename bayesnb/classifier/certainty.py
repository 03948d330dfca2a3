"""How sure a prediction is: the posterior distribution of p(class | row, θ), row by row.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``uncertainty``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesnb.answers import uncertainty as formulas
from bayesnb.answers import weighted
from bayesnb.answers.given import Given, GivenData, GivenRow
from bayesnb.answers.log_odds import close
from bayesnb.answers.log_odds_moments import log_odds_moments
from bayesnb.classifier.far_rows import FarRowError, of_near_rows, predictive_joint
from bayesnb.classifier.tabular import index_of
from bayesnb.data.targets import labels_of
from bayesnb.dependence.learned import DrawnDependence, draw
from bayesnb.kernels.blocks import CELLS, each, slices
from bayesnb.model import Parameters, counted_in, normalize, part_of, probabilities
from bayesnb.priors import Array

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier

MEMORY = 2**29
"""Bytes of which ``sample_proba`` fills half with draws of parameters; its blocks of rows need far less."""

EXPECTED_LABELS = (
    "rows without a label were learned as expected counts, as if their labels had been counted, so the parameters are "
    'known less well than this says; sample_posterior(sampler="gibbs", X=X, y=y) draws the labels too'
)


@of_near_rows
def sample_proba(self: Classifier, X: Any, draws: int = 1000, given: Given | None = None) -> Array:
    """p(c | x, θ) at exact independent posterior draws of θ, (draw, row, class).

    Their spread is the uncertainty of the class probability, and given the row their mean is ``predict_proba`` (by the
    estimate "predictive"). With a dependence, the exponents w are drawn too, and each draw is p(c | x, θ, w); what the
    cells of shapes, pairs and joint columns say is held at its predictive.

    Parameters
    ----------
    X : table
    draws : int
    given : {"row", "data"}, optional
        What is believed of θ, as in :meth:`predict_interval`. Given the data alone, θ is the same for all rows of a
        draw, and the mean over draws, an average of ratios, is not ``predict_proba``, a ratio of averages.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> p = clf.sample_proba(X[:2], draws=500)
    >>> p.shape, p[:, 0, 0].std().round(1)
    ((500, 2, 2), np.float64(0.2))
    """
    data, n = self.read(X)
    if draws < 1:
        raise ValueError(f"Expected at least one draw; got {draws!r}")
    rng, offset = self.generator(), np.broadcast_to(self.offset, (n, len(self.classes)))
    believed = believed_by(self, given, rng)
    size = self.posterior.draw(np.random.default_rng(0)).size
    proba = np.empty((draws, n, len(self.classes)))
    for place, part in enumerate(slices(draws, max(1, min(512, MEMORY // 16 // size)))):
        drawn = draw(self.posterior, self.dependence, rng, part.stop - part.start)

        def answer(
            rows: slice, drawn: Parameters | DrawnDependence = drawn, place: int = place, part: slice = part
        ) -> None:
            with counted_in(np.arange(rows.start, rows.stop)):
                joint = believed.log_joint(drawn, place, part_of(data, rows), rows.stop - rows.start, offset[rows])
                proba[part, rows] = probabilities(joint)

        # Few enough rows for their joints to stay in the cache from step to step.
        list(each(answer, slices(n, max(1, CELLS // drawn.log_pi.size))))
    return proba


@of_near_rows
def predict_interval(
    self: Classifier,
    X: Any,
    prob: float | None = None,
    method: str = "auto",
    draws: int = 4000,
    given: Given | None = None,
) -> pd.DataFrame:
    """Median and equal-tailed interval of p(c | x, θ), whose θ has the posterior given the data and the row.

    It says how well the class probability is known, and narrows as rows are learned; ``predict_proba`` is
    the mean of the distribution whose quantiles these are.

    Parameters
    ----------
    X : table
    prob : float, optional
        Probability of the interval; ArviZ's ``stats.ci_prob`` (0.89) by default.
    method : {"auto", "saddlepoint", "draws"}
        "auto" takes the saddlepoint approximation of the distribution of the log-odds, without a draw, where there
        are two classes, no feature is sampled, no term has an exponent, and the approximation is close: in the tables
        that were tried, the probability on each side of an end was then off by up to 0.011. Else it takes exact draws:
        with three classes or more, with a dependence (θ and the exponents are then both drawn), and where a class has a
        row or two in a Gaussian column (fewer than 4 degrees of freedom) or a concentration is below 1/2, where the
        approximation was off by up to 0.05. With three classes or more and so many parameters that their draws fill
        memory (2,100 columns times classes at 4,000 draws), it draws what each class says of the row by a similar
        approximation, whose error was below that of 20,000 draws wherever it was tried. Rows so far out that the
        standard deviation of their log-odds is above 1e10 (a hundred thousand standard deviations of a Gaussian) are
        drawn by either. Draws have the estimator's seed (0 if it has none), and are the same for every row and every
        call.
    draws : int
    given : {"row", "data"}, optional
        What is believed of θ when a row is asked. "row", the default, is p(θ | D, x): the row, though it has no label,
        says something about θ too. Under this belief, and no other, 89 % of rows from the model are covered, and the
        mean of p(c | x, θ) is ``predict_proba``. "data" is p(θ | D), for a row that was chosen without regard to θ.
        With a dependence it is "data", and "row" is refused: a row without a label says nothing about the exponents,
        and p(c | x, θ, w) has no average over θ that is ``predict_proba``.

    Returns
    -------
    DataFrame (row, (class, "lower" | "median" | "upper"))
        ``attrs["given"]`` is "row" or "data". Of draws, ``attrs["mcse"]`` is the largest Monte Carlo standard error of
        any of these numbers. Where rows without a label were learned, ``attrs["note"]`` says that they count as their
        expected labels.

    Notes
    -----
    After a fit with unlabelled rows the interval is too narrow: labels were taken as expected counts, as if they
    had been counted. ``sample_posterior(sampler="gibbs", X=X, y=y)`` with the learned rows draws them too.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_interval(X[:1], prob=0.5).round(2)
    class    no                yes
          lower median upper lower median upper
    0      0.56   0.77   0.9   0.1   0.23  0.44
    """
    data, n = self.read(X)
    tail = (1 - formulas.probability_of_interval(prob)) / 2
    believed = answering(self, method, draws, given)
    found, errors = believed.intervals(data, n, [tail, 0.5, 1 - tail], self.offset)
    notes = {"given": believed.given.name}
    if errors is not None:
        notes["mcse"] = float(errors.max(initial=0.0))
    columns = pd.MultiIndex.from_product([self.classes, ["lower", "median", "upper"]], names=["class", None])
    return _noted(self, pd.DataFrame(found.reshape(n, len(columns)), index=index_of(X), columns=columns), notes)


def _noted(self: Classifier, frame: pd.DataFrame, notes: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with what has to be said of all of it, in ``attrs``."""
    frame.attrs |= notes
    if self.expected:
        frame.attrs["note"] = EXPECTED_LABELS
    return frame


@of_near_rows
def prob_top(self: Classifier, X: Any, method: str = "auto", draws: int = 4000, given: Given | None = None) -> Array:
    """The posterior probability that the predicted class is the most probable one under p(c | x, θ), (row,).

    ``method``, ``draws`` and ``given`` as in :meth:`predict_interval`. The Monte Carlo standard error of a probability
    p is √(p (1 - p) / draws), at most 0.008 of 4000 draws. After a fit with unlabelled rows it is too sure: labels
    were taken as expected counts.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.prob_top(X[:2]).round(2)
    array([0.8 , 0.95])
    """
    data, n = self.read(X)
    codes = self.log_joint(data, n).argmax(axis=1)
    return answering(self, method, draws, given).prob_top(data, codes, self.offset)


def log_odds(self: Classifier, X: Any, given: Given | None = None) -> pd.DataFrame:
    """Posterior mean and variance of the log-odds ln p(a | x, θ) - ln p(b | x, θ) of each pair: exact, no draws.

    Parameters
    ----------
    X : table
    given : {"row", "data"}, optional
        What is believed of θ, as in :meth:`predict_interval`.

    Returns
    -------
    DataFrame (row, (class, against, "mean" | "variance"))
        In nats, one pair for every two classes. Infinite where one of the two is ruled out, NaN where both are. With a
        dependence, of the posterior of the parameters and the exponents, which are independent. ``attrs["given"]`` is
        "row" or "data".

    Raises
    ------
    FarRowError
        If a row is so far out that the moments are no floats.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.log_odds(X[:1]).round(2)
    class      no
    against   yes
             mean variance
    0        1.19      2.1
    """
    data, n = self.read(X)
    require_two_classes(self)
    believed = believed_by(self, given, self.generator())
    with np.errstate(over="ignore"):
        if self.dependence is None:
            moments = log_odds_moments(self.posterior, data, n, self.offset, believed.power)
        else:
            moments = weighted.log_odds_moments(self.posterior, self.dependence, data, n, self.offset)
    unknown = np.isnan(moments[0]).any(axis=(1, 2))
    if unknown.any() and (far := unknown & np.isfinite(predictive_joint(self, data, n)).all(axis=1)).any():
        raise FarRowError(np.flatnonzero(far))
    pairs = list(combinations(range(len(self.classes)), 2))
    columns = {
        (self.classes[a], self.classes[b], what): moment[:, a, b]
        for a, b in pairs
        for what, moment in zip(("mean", "variance"), moments, strict=True)
    }
    frame = pd.DataFrame(columns, index=index_of(X) if index_of(X) is not None else range(n))
    frame.columns = pd.MultiIndex.from_tuples(list(columns), names=["class", "against", None])
    frame.attrs["given"] = believed.name
    return frame


@of_near_rows
def uncertainty(
    self: Classifier,
    X: Any,
    learned: tuple[Any, ...] | None = None,
    prob: float | None = None,
    draws: int = 4000,
    given: Given | None = None,
) -> pd.DataFrame:
    """What is uncertain about each row, and why.

    Parameters
    ----------
    X : table
    learned : (X, y) or (X, y, sample_weight), optional
        The rows that were learned, for ``novelty_rank``; the estimator keeps none.
    prob : float, optional
        Of the interval.
    draws : int
    given : {"row", "data"}, optional
        What is believed of θ, as in :meth:`predict_interval`.

    Returns
    -------
    DataFrame (row, ...)
        ``prediction``; ``probability``, its probability by the chosen estimate; ``lower`` and ``upper``, the
        interval of its p(c | x, θ); ``top``, the probability that it is the most probable class under θ;
        ``total``, the entropy of the mean of p(c | x, θ), in nats, which given the row is the predictive probability,
        so that the total is exact; ``aleatoric``, the expected entropy of p(c | x, θ), which may rise or fall as rows
        are learned (Wimmer et al. 2023); ``epistemic``, their difference, the mutual information of the row's class
        and the parameters; ``novelty``, -ln p(x | D), high for rows like none that was learned; ``novelty_rank``,
        the share of the learned rows that were less novel when each was left out. ``attrs["given"]`` is "row"
        or "data". ``attrs["mcse"]`` holds the largest Monte Carlo standard error of each column that is taken from
        draws, ``attrs["note"]`` says where labels were taken as expected counts.

    Notes
    -----
    After a fit with unlabelled rows all of it is too sure: labels were taken as expected counts. Given the data alone
    the entropies split the mean over draws, an average of ratios, which is not the predictive probability.
    Novelties of rows with different missing values are densities of different things.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> clf.uncertainty(X[:2], learned=(X, y))[["prediction", "total", "novelty", "novelty_rank"]].round(1)
      prediction  total  novelty  novelty_rank
    0         no    0.6      3.5           0.0
    1         no    0.4      3.4           0.0
    """
    data, n = self.read(X)
    log_joint, offset = self.log_joint(data, n), self.offset
    codes, row = log_joint.argmax(axis=1), np.arange(n)
    tail = (1 - formulas.probability_of_interval(prob)) / 2
    shares = [tail, 1 - tail]
    believed = answering(self, "auto", draws, given)
    drawn = believed.draws if isinstance(believed, formulas.Saddlepoint) else believed
    predictive = predictive_joint(self, data, n)
    asks = {"entropies": drawn.given.entropies(normalize(predictive))}
    if by_draws := believed is drawn:
        asks |= {"interval": formulas.quantiles(shares), "interval_errors": formulas.quantile_errors(shares)}
        asks |= {"top": formulas.shares_of_top(codes)}
    found = drawn.answers(asks, data, n, offset)
    entropies, entropy_errors = np.moveaxis(found["entropies"], 1, 0)
    errors = dict(zip(("total", "aleatoric", "epistemic"), entropy_errors.T, strict=True))
    if by_draws:
        errors |= dict(zip(("lower", "upper"), found["interval_errors"][row, codes].T, strict=True))
        errors["top"] = np.sqrt(found["top"] * (1 - found["top"]) / draws)
    else:
        found["interval"], _ = believed.intervals(data, n, shares, offset)
        found["top"] = believed.prob_top(data, codes, offset)
    novelty = -logsumexp(predictive, axis=1)
    columns = {
        "prediction": self.classes[codes],
        "probability": np.exp(normalize(log_joint))[row, codes],
        "lower": found["interval"][row, codes, 0],
        "upper": found["interval"][row, codes, 1],
        "top": found["top"],
        **dict(zip(("total", "aleatoric", "epistemic"), entropies.T, strict=True)),
        "novelty": novelty,
    }
    if learned is not None:
        columns["novelty_rank"] = _novelty_rank(self, novelty, *learned)
    largest = {name: float(error.max(initial=0.0)) for name, error in errors.items()}
    return _noted(self, pd.DataFrame(columns, index=index_of(X)), {"given": drawn.given.name, "mcse": largest})


def _novelty_rank(self: Classifier, novelty: Array, X: Any, y: Any, sample_weight: Any = None) -> Array:
    """The share of the learned rows that were less novel when each was left out."""
    left_out = -logsumexp(self.with_estimate("predictive").log_left_out(X, y, sample_weight)[0], axis=1)
    weight = np.ones(len(left_out)) if sample_weight is None else np.asarray(sample_weight, float)
    order = np.argsort(left_out)
    share = np.concatenate([[0.0], weight[order].cumsum() / weight.sum()])
    return share[np.searchsorted(left_out[order], novelty)]


def answering(
    self: Classifier, method: str, draws: int, given: Given | None
) -> formulas.Saddlepoint | formulas.PosteriorDraws:
    """What answers: the saddlepoint formula or draws, under what is believed of θ when a row is asked."""
    if method not in ("auto", "saddlepoint", "draws"):
        raise ValueError(f"Expected method to be 'auto', 'saddlepoint' or 'draws'; got {method!r}")
    two, model = len(self.classes) == 2, self.posterior.model
    if method == "saddlepoint":
        if not two:
            raise ValueError(f"the saddlepoint formula is for two classes, and there are {len(self.classes)}")
        model.require_exact("the saddlepoint formula", 'use method="draws"')
        if self.dependence is not None:
            raise ValueError(
                'the saddlepoint formula is for naive Bayes, and here terms have exponents; use method="draws"'
            )
    seed = 0 if self.seed is None else self.seed
    believed = believed_by(self, given, np.random.default_rng(copy.deepcopy(seed)))
    plain = two and model.exact and self.dependence is None
    by_formula = method == "saddlepoint" or (method == "auto" and plain and close(self.posterior))
    if draws < 2 and not by_formula:
        raise ValueError(f"Expected at least 2 draws for an interval; got {draws!r}")
    # A part of the draws is what memory holds; drawing thousands of parameters again for every part takes minutes.
    many = not two and draws * formulas.size_of_draw(self.posterior) > formulas.PART
    by_sums = method == "auto" and many and model.exact and self.dependence is None and close(self.posterior)
    drawn = formulas.PosteriorDraws(self.posterior, max(2, draws), seed, self.dependence, believed, by_sums)
    return formulas.Saddlepoint(drawn) if by_formula else drawn


def belief_named(self: Classifier, given: Given | None) -> Given:
    """Whether θ is believed in given the row or given the data alone.

    Raises
    ------
    ValueError
        For another word, and for "row" with a dependence.
    """
    if given not in (None, "row", "data"):
        raise ValueError(f"Expected given to be 'row' or 'data'; got {given!r}")
    if given == "row" and self.dependence is not None:
        raise ValueError(
            'given="row" is for naive Bayes, and here terms have exponents, of which a row without a label says '
            'nothing: no posterior of the parameters has predict_proba as its mean; use given="data", the default here'
        )
    return given or ("row" if self.dependence is None else "data")


def believed_by(self: Classifier, given: Given | None, rng: np.random.Generator) -> GivenData | GivenRow:
    """What is believed of θ when a row is asked. ``rng`` stays as it is."""
    if belief_named(self, given) == "data":
        return GivenData()
    return GivenRow.of(self.posterior, copy.deepcopy(rng))


def require_two_classes(self: Classifier) -> None:
    """Refuse a question about odds where there is one class."""
    if len(self.classes) < 2:
        raise ValueError(f"there are no odds with one class, {labels_of(self.classes)[0]!r}")
