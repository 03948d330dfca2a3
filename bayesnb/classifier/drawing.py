"""Draws of the parameters as an ArviZ tree, by the closed form, by NUTS or by Gibbs.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. PyMC and ArviZ are imported
when they are asked for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.classifier import exponent_trees
from bayesnb.classifier.sampling import LearnedRows, learned_rows, summed_out
from bayesnb.data.rows import Rows
from bayesnb.priors import ImproperError
from bayesnb.wording import warn

if TYPE_CHECKING:
    from xarray import DataTree

    from bayesnb.classifier import Classifier
    from bayesnb.sampling import gibbs, trees


def sample_posterior(
    self: Classifier,
    draws: int | None = None,
    chains: int | None = None,
    sampler: str = "exact",
    random_seed: Any = None,
    X: Any = None,
    y: Any = None,
    include: Sequence[str] | None = None,
    stage: str = "parameters",
    sample_weight: Any = None,
    **arguments: Any,
) -> DataTree:
    """Posterior draws of all parameters as an ArviZ ``DataTree``; or, with a dependence, of its exponents.

    Parameters
    ----------
    draws, chains : int, optional
        By default 1000 draws of 4 chains, or, if a feature was sampled with fewer, as many as it has. If you ask for
        more, its draws are picked at random, and ArviZ cannot tell that some of them are the same.
    sampler : {"exact", "nuts", "gibbs"}
        Independent draws of the conjugate posterior; NUTS on the PyMC model of the conjugate features; or, where rows
        without a label were learned, a Gibbs sampler, which draws these labels and the parameters in turn. All give the
        same groups, variables, dimensions and coordinates. Whichever it is, sampled features have the draws of their
        own chains: given the labels, features are independent.
    random_seed : int, optional
        The estimator's ``random_state`` by default.
    X, y : table and labels, optional
        Rows that the tree describes. For "nuts", the learned rows if some of them have no label; these labels are
        summed out. For "gibbs", the learned rows. The tree describes those of them that have a label.
    include : of "log_prior", "log_likelihood", "posterior_predictive", "prior_predictive", "columns"; optional
        Which groups to make besides ``posterior`` and ``prior``. By default, all that can be made but "columns", whose
        arrays are large: (chain, draw, row, column). ``include=()`` makes none. Each of the groups that describe rows
        takes 8 bytes × draws × rows.
    stage : {"parameters", "exponents"}
        Draws of the parameters, in which exponents take no part; or of the exponents, given the terms of the learned
        rows, each left out of its own: pass these rows as X, y and ``sample_weight``. "exact" then draws from Laplace's
        approximation, corrected where it is far off, and "nuts" from the model of :meth:`to_pymc`. The log likelihood
        is that of the label given the terms, times the weight of the row.
    sample_weight : array (row,), optional
        Only for the exponents.
    **arguments
        Of ``pymc.sample``, for "nuts". Where all rows have a label, PyMC's own sampler only has to tune its step size,
        and by default takes 200 ``tune`` steps. For "gibbs", ``tune``, the steps of each chain before its first draw
        (200), and ``thin``: a draw is every so many steps (1). Steps are cheap, and many chains hardly take longer than
        few.

    Returns
    -------
    DataTree
        Whichever the sampler, the same groups, variables and coordinates:

        * ``posterior`` and, where it is proper, ``prior``;
        * ``log_prior``, where priors are proper: the log prior density of each variable at its posterior draws, given
          the variables that its prior depends on;
        * ``sample_stats``: ``diverging``, and what the sampler says besides;
        * ``constant_data``: the weight of the rows of each class (``rows``), of the values seen in each column
          (``seen_…``), and the names of levels (``level_…``);
        * with rows, ``observed_data``: the class ``y`` of each row, as its position among the classes;
        * ``log_likelihood``: the joint log p(x_i, y_i | θ), for ``arviz.loo``. It is called ``y`` too, because ArviZ
          pairs arrays by name;
        * ``posterior_predictive``, ``prior_predictive``: the class ``y`` of each row drawn again given the row's
          columns, from p(y | x_i, θ);
        * ``columns``, a tree of its own: the cells ``x_…`` as ``observed_data``, their log p(x_ij | y_i, θ) as
          ``log_likelihood`` (0 where missing), and the predictive groups with cells drawn again given the row's class;
        * ``unlabelled``, for "gibbs": by chain, the draws ``y`` of the labels, as class codes, and the probabilities
          ``p`` of the classes, for each row without a label (the coordinate ``row`` is its place in X).

        Its attributes, and those of ``posterior``, say which library and version drew, and ``sampler``, ``seed`` and
        ``sampling_time`` in seconds.

    Raises
    ------
    ValueError
        For "gibbs", without the learned rows, or if unlabelled rows count by another weight than 1.

    Warns
    -----
    UserWarning
        If the chains of NUTS, of the Gibbs sampler or of a sampled feature did not converge, with r_hat, effective
        draws and divergences.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> tree = clf.sample_posterior(draws=100, chains=2)
    >>> tree["posterior"]["theta_categorical_3"].dims
    ('chain', 'draw', 'class_label', 'categorical_3_feature', 'categorical_3_category')

    With rows, ArviZ's functions need no further arguments. Its leave-one-out is close to the exact one:

    >>> import arviz as az
    >>> tree = clf.sample_posterior(X=X, y=y)
    >>> round(float(az.loo(tree).elpd)), round(float(clf.loo(X, y)["log_density"].sum()))
    (-66, -66)

    The labels of the last two days are not known:

    >>> y[12:] = None
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> tree = clf.sample_posterior(250, sampler="gibbs", X=X, y=y, tune=50)
    >>> tree["unlabelled"]["p"].sel(class_label="yes").mean("chain").round(1).values
    array([0.8, 0.6])
    """
    from xarray import DataTree

    from bayesnb.chains import Convergence
    from bayesnb.sampling import draws as drawing
    from bayesnb.sampling import layout, nuts, trees

    if stage not in ("parameters", "exponents"):
        raise ValueError(f"Expected stage to be 'parameters' or 'exponents'; got {stage!r}")
    draws, chains = _as_many(self, draws, chains)
    if stage == "exponents":
        wanted, learned = _wanted(self, include, X is not None, proper=True), (X, y, sample_weight)
        return exponent_trees.sample(self, draws, chains, sampler, random_seed, learned, wanted, arguments)
    if sample_weight is not None:
        raise TypeError('sample_weight is for stage="exponents": the posterior of the parameters has the weights in it')
    self.require_one_class_prior("sample_posterior")
    if sampler == "gibbs":
        self.posterior.model.require_exact('sampler="gibbs"', 'use sampler="exact", which has its draws')
    if sampler not in ("exact", "nuts", "gibbs"):
        raise ValueError(f"Expected sampler to be 'exact', 'nuts' or 'gibbs'; got {sampler!r}")
    if arguments and sampler == "exact":
        raise TypeError(f"exact draws take no arguments of pymc.sample; got {sorted(arguments)}")
    if sampler == "gibbs" and (odd := sorted(set(arguments) - {"tune", "thin"})):
        raise TypeError(f"Expected no argument of the Gibbs sampler but tune and thin; got {odd}")
    if (X is None) != (y is None):
        raise ValueError("rows are a table and its labels: pass both, as X and y")
    seed = self.seed if random_seed is None else random_seed
    rng = np.random.default_rng(seed)
    start = time.perf_counter()
    groups = drawing.exact(self.posterior, rng, (chains, draws))
    wanted = _wanted(self, include, X is not None, "prior" in groups)
    origin = trees.Origin(sampler, seed, start)
    others: dict[str, Any] = {"sample_stats": drawing.no_divergences(chains, draws)}
    if sampler == "nuts":
        conjugate = self.posterior.conjugate_part()
        sampled = nuts.sample(conjugate, draws, chains, seed, summed_out(self, X, y), **arguments)
        found = sampled["posterior"].dataset
        # The others are of sampled features, which have the draws of their own chains.
        groups["posterior"] |= {name: found[name].to_numpy() for name in groups["posterior"] if name in found}
        others["sample_stats"] = sampled["sample_stats"].dataset
        origin = replace(origin, **nuts.library_of(sampled))
    elif sampler == "gibbs":
        rows, drawn = _by_gibbs(self, X, y, draws, chains, rng, **arguments)
        blocks = layout.blocks(self.posterior.model, self.statistics)
        groups["posterior"] = layout.variables(drawn.parameters, blocks)
        found = drawn.datasets(self.posterior.labels, rows.place)
        others = found | {"sample_stats": found["sample_stats"].merge(others["sample_stats"])}
    attributes = origin.attributes()
    if "log_prior" in wanted:
        groups["log_prior"] = drawing.log_prior(groups["posterior"], self.posterior)
    described = None if X is None else _rows_of_tree(self, X, y, learned=sampler != "exact")
    if described is not None:
        groups |= trees.of_rows(groups, wanted, self.posterior, described, rng)
    tree = trees.build(groups, self.posterior, described, attributes)
    for group, dataset in others.items():
        tree[group] = DataTree(dataset)
    self.posterior.warn_of_chains()
    if sampler != "exact" and not (convergence := Convergence.of(tree)).converged:
        name = "NUTS" if sampler == "nuts" else "The Gibbs sampler"
        warn(f"{name} did not converge: {convergence}")
    return tree


def _as_many(self: Classifier, draws: int | None, chains: int | None) -> tuple[int, int]:
    """How many draws of how many chains: as many as the sampled features have, where nothing else is asked for."""
    samplers = [self.posterior.model.features[name].sampler for name in self.posterior.model.sampled]
    most_draws, most_chains = (
        min([n, *own]) for n, own in ((1000, [s.draws for s in samplers]), (4, [s.chains for s in samplers]))
    )
    return most_draws if draws is None else draws, most_chains if chains is None else chains


def _by_gibbs(
    self: Classifier, X: Any, y: Any, draws: int, chains: int, rng: np.random.Generator, **steps: int
) -> tuple[LearnedRows, gibbs.Drawn]:
    """The learned rows, and draws of the parameters and of the labels that some of these rows lack."""
    from bayesnb.sampling import gibbs

    if X is None or y is None:
        raise ValueError(
            "the Gibbs sampler draws the labels of the learned rows that have none: pass the learned rows, as "
            'sample_posterior(sampler="gibbs", X=X, y=y)'
        )
    rows = learned_rows(self, X, y)
    if not (rows.weight == 1).all():
        raise ValueError(
            f"unlabelled_weight={self.unlabelled_weight:g} raises the likelihood of the unlabelled rows to that power, "
            'and the Gibbs sampler draws labels of whole rows: use sampler="nuts", or fit with unlabelled_weight=1'
        )
    alone = self.posterior.given(rows.labelled)
    return rows, gibbs.sample(alone, rows.data, len(rows.place), draws, chains, rng, **steps)


def _rows_of_tree(self: Classifier, X: Any, y: Any, learned: bool) -> trees.RowsOfTree | None:
    """The rows that a tree describes. Of learned rows, these are the ones with a label; None if all have none."""
    from bayesnb.sampling.trees import RowsOfTree

    rows = Rows.of(X, y, None, self.unlabelled, self.schema)
    keep = rows.target.labelled
    if learned and not keep.all():
        if not keep.any():
            return None
        rows = Rows(rows.table.rows(keep), rows.target.rows(keep), rows.weight[keep])
    rows = rows.labelled()
    return RowsOfTree(self.schema.read(rows.table)[1], rows.target.among(self.classes), np.flatnonzero(keep))


def _wanted(self: Classifier, include: Sequence[str] | None, has_rows: bool, proper: bool) -> tuple[str, ...]:
    """The groups of the tree that are to be made, besides those that every tree has."""
    from bayesnb.sampling.trees import OF_ROWS, OPTIONAL

    need_proper = {"log_prior", "prior_predictive"}
    if include is None:
        possible = ("log_prior", *OF_ROWS) if has_rows else ("log_prior",)
        families = self.posterior.model.features.values()
        known = all(family.exact or family.has_log_prior for family in families)
        possible = [name for name in possible if proper or name not in need_proper]
        return tuple(name for name in possible if name != "log_prior" or known)
    include = [include] if isinstance(include, str) else list(include)
    if odd := set(include) - set(OPTIONAL):
        raise ValueError(f"Expected include to be of {list(OPTIONAL)}; got {sorted(odd)}")
    if not has_rows and (of_rows := [name for name in include if name in (*OF_ROWS, "columns")]):
        raise ValueError(f"{of_rows[0]} speaks of rows: pass them as X and y")
    if not proper and (improper := sorted(need_proper & set(include))):
        raise ImproperError(f"{improper[0]} needs a proper prior for every feature and for the classes")
    if "columns" in include and not set(include) & set(OF_ROWS):
        include += [name for name in OF_ROWS if proper or name not in need_proper]
    return tuple(include)
