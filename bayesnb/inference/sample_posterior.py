"""Draws of the parameters, or of the exponents (powers of likelihoods), as an ArviZ tree."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesnb.dependence.likelihood import Rows as TermRows
from bayesnb.dependence.likelihood import log_posterior_of_classes
from bayesnb.dependence.posterior import LearnedExponents
from bayesnb.inference import to_pymc
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import question
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, drawn_codes
from bayesnb.wording import warn

if TYPE_CHECKING:
    from xarray import DataTree

    from bayesnb.sampling import gibbs, trees
    from bayesnb.sampling.trees import TreeGroup


@question("draws of the parameters for ArviZ", "draws and PyMC")
def sample_posterior(
    classifier: Classifier,
    draws: int | None = None,
    chains: int | None = None,
    sampler: Literal["exact", "nuts", "gibbs"] = "exact",
    random_seed: Any = None,
    X: Any = None,
    y: Any = None,
    include: Sequence[TreeGroup] | None = None,
    stage: Literal["parameters", "exponents"] = "parameters",
    sample_weight: Any = None,
    **arguments: Any,
) -> DataTree:
    """Posterior draws of all parameters, or of exponents (powers of the likelihoods), as an ArviZ ``DataTree``.

    Parameters
    ----------
    draws, chains : int, optional
        By default 1000 draws in each of 4 chains, or fewer if a feature sampled by MCMC has fewer draws. If a sampled
        feature has fewer draws than requested, its draws are resampled.
    sampler : {"exact", "nuts", "gibbs"}
        "exact" draws independently from the conjugate posterior. "nuts" runs NUTS on the PyMC model of the conjugate
        features. "gibbs" is for fits with unlabelled rows: it draws the missing labels and the parameters in turn.
        Features sampled by MCMC keep their draws from the fit.
    random_seed : int, optional
        Seed of the draws; the estimator's ``random_state`` by default.
    X, y : table and labels, optional
        Rows for which the tree gets further groups, such as log-likelihoods. Without y, the rows of X are new rows to
        predict. If some learned rows have no label, "gibbs" and "nuts" need the learned rows, and the tree describes
        only the labelled rows.
    include : list of {"log_prior", "log_likelihood", "posterior_predictive", "prior_predictive", "columns"}, optional
        Groups that the tree must have in addition to the default groups. By default the tree has all available groups
        except "columns", which holds large arrays (chain, draw, row, column).
    stage : {"parameters", "exponents"}
        "parameters" draws the parameters of the columns and classes. Even with a ``dependence``, the tree then
        describes naive Bayes, as ``attrs["note"]`` states. "exponents" draws the exponents, given the rows from which
        the exponents were learned (X, y and ``sample_weight``). For exponents, "exact" uses a Normal approximation if
        accurate, otherwise slice sampling; "nuts" uses the model of :meth:`to_pymc`.
    sample_weight : array (row,), optional
        The weights of the rows, only with ``stage="exponents"``.
    **arguments
        For "nuts", arguments of ``pymc.sample``; ``tune`` is 200 by default if all rows have a label. For "gibbs",
        ``tune`` is the number of steps per chain before the first draw (200 by default), and ``thin`` is the number of
        steps per draw (1 by default).

    Returns
    -------
    DataTree
        The groups, variables and coordinates do not depend on the sampler. The groups are ``posterior``,
        ``sample_stats`` and ``constant_data``. ``prior`` and ``log_prior`` exist if all priors are proper. Rows add
        further groups, such as ``log_likelihood`` (``docs/how-to/two-roads.md``).

    Raises
    ------
    ValueError
        If "gibbs" is used without the learned rows, or with unlabelled rows of a weight other than 1.

    Warns
    -----
    ConvergenceWarning
        If the chains of NUTS or of the Gibbs sampler did not converge.
    UserWarning
        If the chains of a feature sampled by MCMC did not converge, or if the tree has groups for rows but ignores the
        ``dependence``.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> tree = clf.sample_posterior(draws=100, chains=2)
    >>> tree["posterior"]["theta_outlook"].dims
    ('chain', 'draw', 'class_label', 'outlook_category')

    If the tree describes rows, ArviZ needs no further arguments. ArviZ's leave-one-out is close to the exact result:

    >>> import arviz as az
    >>> import numpy as np
    >>> tree = clf.sample_posterior(X=X, y=y)
    >>> exact = clf.loo(X, y)
    >>> own = sum(np.log(exact["probability", label][i]) for i, label in enumerate(y))
    >>> round(float(az.loo(tree).elpd), 1), round(float(own), 1)
    (-10.2, -10.3)
    >>> round(float(az.loo(tree["joint"]).elpd)), round(float(exact["log_density"].sum()))  # of the columns, too
    (-66, -66)

    The labels of the last two days are not known:

    >>> y[12:] = None
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> tree = clf.sample_posterior(250, sampler="gibbs", X=X, y=y, tune=50)
    >>> tree["unlabelled"]["p"].sel(class_label="yes").mean("chain").round(1).values
    array([0.8, 0.6])
    """
    from bayesnb.chains import Convergence

    if stage == "parameters" and sample_weight is not None:
        raise TypeError('sample_weight is for stage="exponents": the posterior of the parameters has the weights in it')
    if (stage, sampler) == ("exponents", "gibbs"):
        raise ValueError(f"Expected sampler to be 'exact' or 'nuts' for the exponents; got {sampler!r}")
    if arguments and sampler == "exact":
        raise TypeError(f"exact draws take no arguments of pymc.sample; got {sorted(arguments)}")
    if sampler == "gibbs" and (odd := sorted(set(arguments) - {"tune", "thin"})):
        raise TypeError(f"Expected no argument of the Gibbs sampler but tune and thin; got {odd}")
    seed = classifier.seed if random_seed is None else random_seed
    most_chains, most_draws = classifier.posterior.sizes
    draws, chains = most_draws if draws is None else draws, most_chains if chains is None else chains
    asked = _Draws(classifier, draws, chains, sampler, seed, include, arguments)
    tree = asked.parameters(X, y) if stage == "parameters" else asked.exponents(X, y, sample_weight)
    if sampler != "exact" and not (convergence := Convergence.of(tree)).converged:
        from sklearn.exceptions import ConvergenceWarning

        name = "NUTS" if sampler == "nuts" else "The Gibbs sampler"
        warn(f"{name} did not converge: {convergence}", ConvergenceWarning)
    return tree


@dataclass(frozen=True, eq=False)
class _Draws:
    classifier: Classifier
    draws: int
    chains: int
    sampler: str
    seed: Any
    include: Sequence[TreeGroup] | None
    arguments: Mapping[str, Any]

    def parameters(self, X: Any, y: Any) -> DataTree:
        from xarray import DataTree

        from bayesnb.sampling import draws as drawing
        from bayesnb.sampling import layout, nuts, trees

        classifier = self.classifier
        classifier.require_one_class_prior("sample_posterior")
        if self.sampler != "exact":
            classifier.posterior.require_statistics()
        fitted = classifier.posterior.fitted
        if self.sampler == "gibbs":
            classifier.posterior.require_exact('sampler="gibbs"', 'use sampler="exact", which has its draws')
        if X is None and y is not None:
            raise ValueError("labels y belong to the rows of a table: pass the table too, as X")
        rng = np.random.default_rng(self.seed)
        start = time.perf_counter()
        groups = drawing.exact(classifier.posterior, rng, (self.chains, self.draws))
        wanted = trees.wanted(classifier.posterior.model, self.include, y is not None, "prior" in groups)
        sampled, others = None, {"sample_stats": drawing.no_divergences(self.chains, self.draws)}
        if self.sampler == "nuts":
            conjugate = fitted.conjugate_part()
            model = to_pymc.summed_out(classifier, X, y, apart=False)
            drawn, sampled = nuts.sample(conjugate, self.draws, self.chains, self.seed, model, **self.arguments)
            # The variables of sampled features keep the draws of the fit.
            groups["posterior"] |= layout.variables(drawn, layout.blocks(conjugate))
            others["sample_stats"] = sampled["sample_stats"].dataset
        elif self.sampler == "gibbs":
            rows, drawn = _by_gibbs(classifier, X, y, self.draws, self.chains, rng, **self.arguments)
            groups["posterior"] = layout.variables(drawn.parameters, layout.blocks(fitted))
            found = drawn.datasets(fitted.labels, rows.place)
            others = found | {"sample_stats": found["sample_stats"].merge(others["sample_stats"])}
        attributes = trees.attributes_of(self.sampler, self.seed, start, sampled)
        if not classifier.believed.naive:
            attributes["note"] = to_pymc.NAIVE
            if X is not None:
                warn(to_pymc.NAIVE)
        if "log_prior" in wanted:
            groups["log_prior"] = drawing.log_prior(groups["posterior"], fitted)
        described = None if y is None else _rows_of_tree(classifier, X, y, learned=self.sampler != "exact")
        if X is not None and y is None:
            groups |= trees.predictions(fitted, groups["posterior"], *classifier.read(X), rng)
        if described is not None:
            groups |= trees.of_rows(groups, wanted, fitted, described, rng)
        tree = trees.build(groups, fitted, described, attributes)
        for group, dataset in others.items():
            tree[group] = DataTree(dataset)
        classifier.posterior.warn_of_chains()
        return tree

    def exponents(self, X: Any, y: Any, sample_weight: Any) -> DataTree:
        """Draw the exponents from their posterior, given the rows X, y from which they were learned."""
        # w (term): exponents; b (class): intercepts; b_cell (class, cell): intercepts per level or interval; d (class,
        # deviation): differences between a class's exponents and ``w``
        from xarray import DataTree

        from bayesnb.chains import run_nuts
        from bayesnb.dependence import program
        from bayesnb.sampling import draws as drawing
        from bayesnb.sampling import trees

        classifier, sampler = self.classifier, self.sampler
        wanted = trees.wanted(classifier.posterior.model, self.include, X is not None, proper=True)
        rows = to_pymc.second_stage(classifier, X, y, sample_weight)
        if "columns" in wanted:
            raise ValueError("the second stage describes labels given terms, so its tree has no columns")
        dependence = classifier.believed.require_exponents()
        # If models are averaged, only the member with all terms has a PyMC model.
        learned, rng = dependence.exponents.largest, np.random.default_rng(self.seed)
        rows = rows.first(learned.layout.terms, learned.layout.cells)
        start, sampled, stats = time.perf_counter(), None, drawing.no_divergences(self.chains, self.draws)
        if sampler == "nuts":
            settings = {"random_seed": int(rng.integers(2**31)), **self.arguments}
            sampled = run_nuts(program.pymc_model(rows, learned), self.draws, self.chains, **settings)
            stats = sampled["sample_stats"].dataset
            drawn = {name: v.to_numpy() for name, v in sampled["posterior"].data_vars.items()}
            points = program.parameters_of({name: v.reshape(-1, *v.shape[2:]) for name, v in drawn.items()})
        else:
            points = learned.drawn(rng, self.chains * self.draws)
        points = points.reshape(self.chains, self.draws, -1)
        sampler = "laplace" if sampler == "exact" else sampler
        attributes = trees.attributes_of(sampler, self.seed, start, sampled)
        mean, sd = learned.prior
        prior = mean + sd * rng.standard_normal(points.shape)
        groups = {"posterior": _variables(points, learned), "prior": _variables(prior, learned)}
        if "log_prior" in wanted:
            z = (points - mean) / sd
            groups["log_prior"] = _variables(-0.5 * z**2 - np.log(sd) - 0.5 * np.log(2 * np.pi), learned)
        for source, drawn in (("posterior", points), ("prior", prior)):
            own, y = _classes(drawn, learned, rows, rng)
            if f"{source}_predictive" in wanted:
                groups[f"{source}_predictive"] = {"y": y}
            if source == "posterior" and "log_likelihood" in wanted:
                groups["log_likelihood"] = {"y": own}
        terms = [str(name) for name in learned.table().index]
        kept = None if sample_weight is None else np.flatnonzero(np.asarray(sample_weight) > 0)
        names = {
            "class_label": [str(label) for label in classifier.classes],
            "cell": dependence.offset_names(classifier.posterior),
            "row": np.arange(len(rows.codes)) if kept is None else kept,
            "term": terms,
            "deviation": [terms[t] for t in learned.layout.own if t < learned.layout.terms],
        }
        groups["observed_data"] = {"y": rows.codes}
        of_classes = np.bincount(rows.codes, rows.weight, len(classifier.classes))
        groups["constant_data"] = {"rows": of_classes, "weight": rows.weight}
        shapes = {
            "w": ["term"], "b": ["class_label"], "b_cell": ["class_label", "cell"], "d": ["class_label", "deviation"],
            "y": ["row"], "rows": ["class_label"], "weight": ["row"],
        }  # fmt: skip
        tree = trees.tree_of(groups, names, shapes, attributes)
        tree["sample_stats"] = DataTree(stats)
        return tree


def _by_gibbs(
    classifier: Classifier, X: Any, y: Any, draws: int, chains: int, rng: np.random.Generator, **steps: Any
) -> tuple[to_pymc.LearnedRows, gibbs.Drawn]:
    from bayesnb.sampling import gibbs

    if X is None or y is None:
        raise ValueError(
            "the Gibbs sampler draws the labels of the learned rows that have none: pass the learned rows, as "
            'sample_posterior(sampler="gibbs", X=X, y=y)'
        )
    rows = to_pymc.learned_in_two(classifier, X, y)
    if not (rows.weight == 1).all():
        raise ValueError(
            f"Unlabelled(weight={classifier.unlabelled_rows.weight:g}) raises the likelihood of the "
            'unlabelled rows to that power, and the Gibbs sampler draws labels of whole rows: use sampler="nuts", or '
            "fit with Unlabelled(weight=1)"
        )
    alone = classifier.posterior.given(rows.labelled)
    return rows, gibbs.sample(alone, rows.data, len(rows.place), draws, chains, rng, **steps)


def _rows_of_tree(classifier: Classifier, X: Any, y: Any, learned: bool) -> trees.RowsOfTree | None:
    """The labelled rows that a ``DataTree`` describes; ``None`` if no row has a label."""
    from bayesnb.sampling.trees import RowsOfTree

    rows = classifier.rows(X, y)
    keep = rows.target.labelled
    if learned and not keep.all():
        if not keep.any():
            return None
        rows = rows.kept(keep)
    rows = rows.labelled()
    data, labels = classifier.schema.read(rows.table)[1], rows.target.among(classifier.classes)
    return RowsOfTree(data, labels, np.flatnonzero(keep))


def _variables(points: Array, learned: LearnedExponents) -> dict[str, Array]:
    layout = learned.layout
    own = points[..., layout.terms :].reshape(*points.shape[:-1], layout.classes, len(layout.own))
    n = int((layout.own < layout.terms).sum())
    found = {"w": points[..., : layout.terms], "b": own[..., -1], "b_cell": own[..., n:-1], "d": own[..., :n]}
    return {name: value for name, value in found.items() if value.size}


def _classes(points: Array, learned: LearnedExponents, rows: TermRows, rng: np.random.Generator) -> tuple[Array, Array]:
    """Log probability of each row's class times the row's weight, and drawn classes, each (chain, draw, row)."""
    from bayesnb.sampling.trees import NUMBERS

    v, n = learned.layout.exponents(points.reshape(-1, points.shape[-1])), len(rows.codes)
    own, y = np.empty((len(v), n)), np.empty((len(v), n), np.int64)
    for cut in slices(len(v), max(1, NUMBERS // max(1, n * learned.layout.classes))):
        log_p = log_posterior_of_classes(rows.terms, rows.offset, v[cut], rows.alike)
        own[cut] = log_p[rows.codes, np.arange(n)].T * rows.weight
        y[cut] = drawn_codes(log_p, rng, axis=0).T
    return own.reshape(*points.shape[:2], n), y.reshape(*points.shape[:2], n)
