"""The effect of further rows on the expected loss, with a predictive interval, and on the regret of estimates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from bayesnb.families.family import Family
from bayesnb.inference.believed import Believed
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import question
from bayesnb.inference.regret import Costs, expected_losses, regrets
from bayesnb.inference.sample import drawn_rows
from bayesnb.inference.scoring import log_proba_of
from bayesnb.kernels.blocks import slices
from bayesnb.model import ESTIMATES, Data, Estimate, Parameters, Posterior, Statistics, part_of
from bayesnb.model.order import Order
from bayesnb.numerics import Array, log
from bayesnb.priors import BoundaryError, ImproperError, Theta
from bayesnb.statistics.statistic import Labels, Statistic
from bayesnb.wording import require_whole, shown_value

BLOCK = 4096
"""Rows to draw at once if the statistic of a family cannot be drawn directly."""


def drawn_statistic(
    family: Family, theta: Theta, s: Statistic, rows: Array, share: Array, rng: Generator, read: Callable[[Array], Any]
) -> Statistic:
    """Draw a feature's statistic in further rows, given ``theta``; ``rows`` is the number of further rows per class."""
    # ``s`` is the statistic of the learned rows. ``share``, (column,), is the share of cells that are not missing.
    # ``read`` encodes cells, if the family draws cells instead of statistics.
    n = rng.binomial(rows[:, None], share)
    if (found := family.drawn_statistic(theta, s, n, rng)) is not None:
        return found
    codes, total = np.repeat(np.arange(len(rows)), rows), s * 0.0
    for cut in slices(len(codes), BLOCK):
        own = codes[cut]
        cells = family.sample({name: value[own] for name, value in theta.items()}, rng, s)
        total = total + family.statistic(read(cells), Labels.of(own, len(rows)))
    return total


def drawn_statistics(classifier: Classifier, theta: Parameters, rows: int, rng: Generator) -> Statistics:
    """Draw sufficient statistics of further rows from ``theta``; cells are missing as often as in learned rows."""
    p, learned, found = np.exp(theta.log_pi), classifier.statistics, {}
    of_class = rng.multinomial(rows, p / p.sum())
    for name, family in theta.model.features.items():
        s, read = learned.features[name], classifier.schema.features[name].read
        share = np.minimum(s.seen().sum(0) / learned.rows.sum(), 1.0)
        found[name] = drawn_statistic(family, theta.features[name], s, of_class, share, rng, read)
    return Statistics(learned.labels, of_class.astype(float), found)


@question(
    "to know what more rows are worth",
    "what to do",
    "design",
    columns={
        "loss": "expected loss per row",
        "lower": "lower end of the interval of the mean loss",
        "upper": "upper end of the interval of the mean loss",
        "saving": "expected decrease in loss",
        "regret": "expected increase in loss of each plug-in over full Bayes",
    },
)
def worth_of_rows(
    classifier: Classifier,
    more: Sequence[int] | None = None,
    X: Any = None,
    y: Any = None,
    costs: Costs = "log loss",
    bound: float = 0.01,
    draws: int = 100,
    rows: int = 100,
    prob: float | None = None,
) -> pd.DataFrame:
    """The expected loss after learning further rows, and the regret of each plug-in estimate relative to full Bayes.

    Parameters
    ----------
    more : sequence of int, optional
        Numbers of further rows; by default 0, 0.5, 1, 2, 4 and 9 times the number of learned rows.
    X, y : table and labels, optional
        The learned rows. Each learned row is predicted by the posterior given all other rows. Without a ``dependence``,
        copies of the learned rows serve as further rows. If ``X`` is None, all rows are drawn from the model.
    costs : {"log loss", "accuracy"} or DataFrame (class, decision)
        The loss of acting on class probabilities, as in :func:`plug_in_regret`.
    bound : float
        The largest acceptable regret, in the unit of ``costs``.
    draws : int
        Number of draws of the parameters from the posterior.
    rows : int
        Number of rows to predict at each draw.
    prob : float, optional
        Probability of the interval, by default ArviZ's ``stats.ci_prob`` (0.89).

    Returns
    -------
    DataFrame (more, ...)
        ``loss`` is the expected loss per row under full Bayes. With probability ``prob``, the mean loss of ``rows`` new
        rows lies between ``lower`` and ``upper``. With a ``dependence``, ``lower`` and ``upper`` are absent. ``saving``
        is the decrease in expected loss compared with 0 further rows. Columns that begin with ``regret`` hold the
        regrets of the plug-in estimates.

        ``attrs["rows_needed"]`` maps each plug-in estimate to the number of further rows (perhaps infinite) after which
        its regret stays at most ``bound``, or to NaN if the estimate does not exist.

    Raises
    ------
    ValueError
        If a feature is sampled by MCMC, unlabelled rows were learned, each row has a separate class prior, or ``more``
        has a negative entry. Models with a ``dependence`` need the learned rows.

    Notes
    -----
    See ``docs/how-to/what-map-costs.md``. With a ``dependence``, the exponents stay fixed, so losses and regrets after
    many further rows are only a rough guide. For example, losses predicted from 60 rows for 1,340 more rows were 0.03
    to 0.18 nats too small.

    References
    ----------
    Raiffa and Schlaifer (1961), Applied Statistical Decision Theory, chapters 4 and 5; Lindley (1997), The choice of
    sample size; Rubin (1981), The Bayesian bootstrap, for copies of the learned rows; Akaike (1974), for the optimism
    of learned exponents.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, design
    >>> X, y = datasets.heights()
    >>> found = design.worth_of_rows(BayesianNB(random_state=0).fit(X, y), [0, 40, 400], draws=50)
    >>> found["loss"].round(2).to_dict()
    {0: 0.37, 40: 0.35, 400: 0.34}
    """
    # Each posterior draw of θ is treated as the true θ. Statistics of further rows, drawn given the true θ, are added
    # to the learned statistics. The updated posterior then predicts new rows drawn given the true θ.
    classifier.require_one_class_prior("the worth of further rows")
    classifier.require_counted("further rows are added to rows that were counted")
    classifier.posterior.require_exact("the posterior after further rows", "fit it as another family")
    if X is None or y is None:
        classifier.believed.require_naive(
            "exponents say nothing of how rows are made: pass X and y, the learned rows, each of which is left out"
        )
    learned = float(classifier.statistics.rows.sum())
    asked = sorted({round(learned * times) for times in (0, 0.5, 1, 2, 4, 9)} if more is None else {*map(int, more)})
    require_whole(1, draws=draws, rows=rows)
    if not asked or asked[0] < 0:
        raise ValueError(f"Expected more to hold numbers of rows, 0 or more; got {shown_value(more)}")
    sizes = sorted({0, *asked})
    rng = np.random.default_rng(classifier.fixed_seed)
    expected, share = expected_losses(costs, classifier.classes), probability_of_interval(prob)
    full = classifier.with_estimate("predictive").believed
    # Flat priors do not depend on the rows, so their shapes are computed once.
    flat = full.posterior.model.flat().posterior(classifier.statistics) if full.naive else None
    plug_ins: list[Estimate] = [
        name for name, rule in ESTIMATES.items() if rule.plugs_in and not (rule.flat and flat is None)
    ]
    certain = log(np.eye(len(classifier.classes)))
    known = None if X is None or y is None else classifier.learned(X, y, None)
    if known is not None:
        order = Order.under(full.posterior.model, *known).places
        known = part_of(known[0], order), known[1][order]
    excess, now = np.zeros(0), np.nan
    if known is not None:
        # The loss of all learned rows is known without drawing, so only the decrease of the loss is drawn.
        excess = _optimism(full, *known, expected)
        now = expected(log_proba_of(full.left_out(*known)[0]), certain[known[1].codes]).mean() + excess.mean()
    loss, realised = np.zeros((2, draws, len(sizes)))
    # NaN if a plug-in does not exist.
    regret = np.full((len(plug_ins), draws, len(sizes)), np.nan)

    def predicted(believed: Believed, data: Data, labels: Labels | None) -> Array:
        # A plug-in that has learned a row gives it a positive probability, so learned rows are left out.
        left_out = labels is not None and full.naive
        return log_proba_of(believed.left_out(data, labels)[0] if left_out else believed.log_joint(data, rows))

    for k in range(draws):
        theta = full.posterior.draw(rng, (1,)).at(0)
        further, labels, more_loss = partial(drawn_statistics, classifier, theta, rng=rng), None, 0.0
        if known is None:
            # Draw the rows to predict at the true θ.
            world = replace(classifier, believed=replace(classifier.believed, estimate="mean", plug_in=theta))
            data, codes = drawn_rows(world, rows, rng)
            true = log_proba_of(world.believed.log_joint(data, rows))
        else:
            # Draw learned rows, with their labels, by Bayesian bootstrap probabilities.
            some = rng.choice(len(known[1]), rows, p=_law(known[1], rng))
            data, labels, more_loss = part_of(known[0], some), known[1][some], excess[some].mean() / 2
            codes, true = labels.codes, certain[labels.codes]
            if full.naive:
                further = partial(_copied_statistics, full.posterior, *known, _law(known[1], rng), rng=rng)
        statistics, before = classifier.statistics, 0
        for step, size in enumerate(sizes):
            statistics, before = statistics + further(rows=size - before), size
            believed = replace(full, posterior=full.posterior.given(statistics))
            predictive = predicted(believed, data, labels)
            # The exponents of a dependence are those of full Bayes, so its plug-ins cannot leave rows out.
            left = predictive if labels is None or full.naive else log_proba_of(believed.left_out(data, labels)[0])
            for found, classes in ((loss, true), (realised, certain[codes])):
                found[k, step] = expected(left, classes).mean() + more_loss * (1 + learned / (learned + size))
            for m, name in enumerate(plug_ins):
                posterior = believed.posterior
                if flat is not None and ESTIMATES[name].flat:
                    posterior = flat.given(statistics)
                with suppress(BoundaryError, ImproperError):
                    point = posterior.point(ESTIMATES[name].point)
                    plugged = replace(believed, estimate=name, plug_in=replace(point, model=full.posterior.model))
                    regret[m, k, step] = regrets(predicted(plugged, data, labels), predictive, expected).mean()
    # If values are exchangeable, the next value is below such a quantile of the others with exactly its probability.
    low, high = np.quantile(realised, [(1 - share) / 2, (1 + share) / 2], axis=0, method="weibull")
    mean = loss.mean(0)
    if np.isfinite(now) and np.isfinite(mean[0]):
        mean += now - mean[0]
    columns = {"loss": mean, "lower": low, "upper": high, "saving": mean[0] - mean}
    if not full.naive:
        del columns["lower"], columns["upper"]
    columns |= {f"regret of {name}": regret[m].mean(0) for m, name in enumerate(plug_ins)}
    found = pd.DataFrame(columns, index=pd.Index(sizes, name="more")).loc[asked]
    needed = {m: rows_needed(learned, np.array(sizes), columns[f"regret of {m}"], bound) for m in plug_ins}
    found.attrs |= {"prob": share, "bound": bound, "learned": learned, "rows_needed": needed}
    return found


def _law(labels: Labels, rng: Generator) -> Array:
    # The Bayesian bootstrap (Rubin 1981).
    return rng.dirichlet(np.ones(len(labels)))


def _copied_statistics(
    posterior: Posterior, data: Data, labels: Labels, law: Array, rows: int, rng: Generator
) -> Statistics:
    times = rng.multinomial(rows, law)
    some = np.flatnonzero(times)
    copies = Labels(labels.codes[some], times[some].astype(float), labels.n)
    return posterior.model.statistics(part_of(data, some), copies, posterior.labels)


def _optimism(believed: Believed, data: Data, labels: Labels, expected: Callable[[Array, Array], Array]) -> Array:
    """The decrease in each row's expected loss if the exponents are also learned from the row's label, (row,)."""
    # Let p exponents be learned from n rows. Compared with the best p exponents, the loss per row is smaller by about
    # p/2n on these rows, and larger by p/2n on other rows; this function estimates the sum δ of both. After m further
    # rows, δ (1 + n/(n + m)) / 2 remains (the reasoning of Akaike 1974).
    found, dependence = np.zeros(len(labels)), believed.dependence
    if dependence is not None:
        rows = dependence.rows(believed.posterior, data, labels)
        change = believed.posterior.change_of_prior()
        held, without, codes = dependence.left_out_of_exponents(rows, labels.n, change)
        true = log(np.eye(held.shape[1]))[codes]
        some, _ = dependence.drawn(believed.posterior, data, labels)
        found[some] = expected(without, true) - expected(held, true)
    return found


def rows_needed(learned: float, sizes: Array, regret: Array, bound: float) -> float:
    """Number of further rows until the regret is at most ``bound``: infinite if never, NaN if the regret is NaN."""
    # Between two sizes, the log regret is interpolated linearly in the log of the number of all rows, because it falls
    # as 1/n².
    if np.isnan(regret[-1]):
        return np.nan
    above = np.flatnonzero(~(regret <= bound))
    if not len(above):
        return float(sizes[0])
    last = above[-1]
    if last == len(sizes) - 1:
        return np.inf
    if not np.isfinite(regret[last]) or regret[last + 1] == 0:
        return float(sizes[last + 1])
    n, p = np.log(learned + sizes[last : last + 2]), np.log(regret[last : last + 2])
    rows = np.exp(n[0] + (np.log(bound) - p[0]) * (n[1] - n[0]) / (p[1] - p[0])) - learned
    # Rounding errors must not add a row.
    return float(np.ceil(rows - 1e-9 * rows))
