"""The model as one that makes data: new rows, the program in PyMC, and draws of the parameters.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. PyMC and ArviZ are
imported when they are asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.data.rows import Rows
from bayesnb.data.targets import codes_of
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, Statistics
from bayesnb.priors import Array, ImproperError

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree

    from bayesnb.classifier import Classifier
    from bayesnb.dependence import conditional
    from bayesnb.sampling import gibbs

ROW_GROUPS = ("posterior_predictive", "prior_predictive", "log_likelihood")
"""Groups of the DataTree that describe rows."""


def sample(self: Classifier, n: int = 1, label: Any = None) -> pd.DataFrame:
    """New rows from the model, with a column for the class; with a dependence, from its naive Bayes part.

    Parameters
    ----------
    n : int
    label : optional
        The class of all rows. By default, the class of each row is drawn.

    Returns
    -------
    DataFrame (n, ...)
        The label in the column ``y`` (or ``y_``, if a fitted column is called "y"), then the fitted columns. A binned
        column holds the names of bins. With ``estimate="predictive"``, each row has its own draw of the parameters.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> clf.sample(2, label="yes")
         y   outlook temperature humidity  wind
    0  yes     sunny         hot     high  weak
    1  yes  overcast         hot     high  weak
    """
    self.require_one_class_prior("sample")
    chosen = None if label is None else int(codes_of(self.classes, np.asarray([label]))[0])
    return _sample_rows(self, n, chosen, self.generator())


def _sample_rows(self: Classifier, n: int, chosen: int | None, rng: np.random.Generator) -> pd.DataFrame:
    parts = [_sample_block(self, cut.stop - cut.start, chosen, rng) for cut in slices(n, 1024)]
    return pd.concat(parts, ignore_index=True)


def _sample_block(self: Classifier, n: int, chosen: int | None, rng: np.random.Generator) -> pd.DataFrame:
    encoded, codes = _sample_encoded(self, n, chosen, rng)
    frame = self.schema.decode(encoded)
    frame.insert(0, "y" if "y" not in frame else "y_", self.classes[codes])
    return frame


def _sample_encoded(self: Classifier, n: int, chosen: int | None, rng: np.random.Generator) -> tuple[Data, Array]:
    """New encoded rows, (row, column) for each feature, and the codes of their classes."""
    theta = self.posterior.draw(rng, (n,)) if self.plug_in is None else self.plug_in.repeated(n)
    noisy = theta.log_pi + rng.gumbel(size=theta.log_pi.shape)
    codes = noisy.argmax(-1) if chosen is None else np.full(n, chosen)
    own = theta.at((np.arange(n), codes))
    encoded = {
        name: family.sample(own.features[name], rng, self.statistics.features[name])
        for name, family in self.posterior.model.features.items()
    }
    return encoded, codes


def drawn_rows(self: Classifier, n: int, rng: np.random.Generator) -> Data:
    """New rows as the families read them."""
    encoded = _sample_encoded(self, n, None, rng)[0]
    return {name: feature.read(encoded[name]) for name, feature in self.schema.features.items()}


def to_pymc(
    self: Classifier,
    X: Any = None,
    y: Any = None,
    likelihood: str = "sufficient",
    stage: str = "parameters",
    sample_weight: Any = None,
) -> pm.Model:
    """The fitted model written out in PyMC.

    Parameters
    ----------
    X, y : table and labels, optional
        The rows to observe with ``likelihood="rows"``, which must be those that were learned. If some of them have no
        label, their labels are summed out in a Potential called ``unlabelled``. (Without the rows, the expected counts
        of EM are observed as if they had been counted.)
    likelihood : {"sufficient", "rows"}
        Whether to observe sufficient statistics, whose cost does not grow with the number of rows, or each row. Both
        have the same log density.
    stage : {"parameters", "exponents"}
        The model of the rows given the parameters; or, with a dependence, the second stage: the labels given the terms
        of each row, which is left out of them, and the exponents. It needs the rows that these were learned from, as X,
        y and ``sample_weight``. The terms are data there: what is uncertain about the parameters stays in the first
        stage (a cut posterior, Plummer 2015).

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> [variable.name for variable in clf.to_pymc().free_RVs]
    ['pi', 'theta_categorical_3', 'theta_categorical_2']
    """
    from bayesnb.sampling import pymc_model

    if stage not in ("parameters", "exponents"):
        raise ValueError(f"Expected stage to be 'parameters' or 'exponents'; got {stage!r}")
    if stage == "exponents":
        from bayesnb.dependence import program

        return program.pymc_model(second_stage(self, X, y, sample_weight), self.dependence.exponents)
    if sample_weight is not None:
        raise TypeError('sample_weight is for stage="exponents": the sufficient statistics have the weights in them')
    self.require_one_class_prior("to_pymc")
    if likelihood == "rows":
        self.require_counted("likelihood='rows' observes the label of every row")
    elif (summed_out := _summed_out(self, X, y)) is not None:
        return summed_out
    data = codes = None
    if X is not None:
        rows = Rows.of(X, y, None, self.unlabelled, self.schema).labelled()
        data, codes = self.schema.read(rows.table)[1], rows.target.among(self.classes)
        if not np.isclose(rows.weight.sum(), self.statistics.rows.sum()):
            raise ValueError(
                f"{len(codes)} rows were given and rows of weight {self.statistics.rows.sum():g} were learned: "
                "likelihood='rows' observes exactly the learned rows, unweighted"
            )
    return pymc_model.build(self.posterior, data, codes, likelihood)


def second_stage(self: Classifier, X: Any = None, y: Any = None, sample_weight: Any = None) -> conditional.Rows:
    """The rows that the exponents were learned from, each left out of its terms."""
    if self.dependence is None:
        raise ValueError('there are no exponents: fit with dependence="weighted" or another one')
    if X is None or y is None:
        raise ValueError("the model keeps no rows: pass those that the exponents were learned from")
    self.require_one_class_prior("the second stage")
    rows = Rows.of(X, y, sample_weight, self.unlabelled, self.schema).labelled().counted()
    return self.dependence.rows(self.posterior, *self.encoded(rows))


def _summed_out(self: Classifier, X: Any, y: Any) -> pm.Model | None:
    """The PyMC model of the learned rows if some have no label; ``None`` if all have one."""
    from bayesnb.sampling import pymc_model

    learned = _learned(self, X, y) if X is not None and y is not None else None
    if learned is None or not len(learned.weight):
        return None
    return pymc_model.summed_out(self.posterior, learned.labelled, learned.data, learned.weight)


@dataclass(frozen=True, eq=False)
class _Learned:
    """The rows that were learned: the statistics of those with a label, the columns and weights of the others."""

    labelled: Statistics
    data: Data
    weight: Array
    place: Array


def _learned(self: Classifier, X: Any, y: Any) -> _Learned:
    """The learned rows in two, where these are they."""
    rows = Rows.of(X, y, None, self.unlabelled, self.schema).weighing_unlabelled(self.unlabelled_weight)
    if not np.isclose(rows.weight.sum(), self.statistics.rows.sum()):
        raise ValueError(
            f"rows of weight {rows.weight.sum():g} were given and rows of weight {self.statistics.rows.sum():g} were "
            "learned: pass exactly the rows that were learned, with the unlabelled ones, and no sample weights"
        )
    data = self.schema.read(rows.table)[1]
    return _Learned(*rows.split(self.posterior.model, data, self.classes), np.flatnonzero(~rows.target.labelled))


def sample_posterior(
    self: Classifier,
    draws: int = 1000,
    chains: int = 4,
    sampler: str = "exact",
    random_seed: Any = None,
    X: Any = None,
    y: Any = None,
    include: Sequence[str] = (),
    **arguments: Any,
) -> DataTree:
    """Posterior draws of all parameters as an ArviZ ``DataTree``; exponents take no part (see :meth:`to_pymc`).

    Parameters
    ----------
    draws, chains : int
    sampler : {"exact", "nuts", "gibbs"}
        Independent draws of the conjugate posterior; NUTS on the PyMC model; or, where rows without a label were
        learned, a Gibbs sampler, which draws these labels and the parameters in turn. All give the same variables,
        dimensions and coordinates.
    random_seed : int, optional
        The estimator's ``random_state`` by default.
    X, y : table and labels, optional
        Rows for ``include``. They also become part of ``observed_data``, as class codes and encoded columns. For
        "nuts", the learned rows if some of them have no label; these labels are summed out. For "gibbs", the learned
        rows.
    include : of "posterior_predictive", "prior_predictive", "log_likelihood", "log_prior"
        Replicates of those rows from every draw, and log p(x_i, y_i | θ) for ``arviz.loo``, under the name ``y``,
        by which ArviZ pairs it with what is observed. Checks that are for one variable are told which:
        ``arviz.plot_ppc_pava(tree, var_names="y")``, ``arviz.plot_loo_pit(tree, var_names="y")``. "log_prior", the log
        prior density of each variable, needs no rows; ``arviz.psense_summary`` takes both logarithms.
    **arguments
        Of ``pymc.sample``, for "nuts". For "gibbs", ``tune``, the steps of each chain before its first draw (200), and
        ``thin``: a draw is every so many steps (1). Steps are cheap, and many chains hardly take longer than few.

    Returns
    -------
    DataTree
        Groups ``posterior``, ``prior`` (where it is proper), ``observed_data`` and ``constant_data``;
        ``sample_stats`` for "nuts" and "gibbs". For "gibbs" also ``unlabelled``: by chain, the draws ``y`` of the
        labels, as class codes, and the probabilities ``p`` of the classes, for each row without a label (the
        coordinate ``row`` is its place in X).

    Raises
    ------
    ValueError
        For "gibbs", without the learned rows, or if unlabelled rows count by another weight than 1.

    Warns
    -----
    UserWarning
        If the chains of NUTS or of the Gibbs sampler did not converge, with r_hat, effective draws and divergences.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> tree = clf.sample_posterior(draws=100, chains=2)
    >>> tree["posterior"]["theta_categorical_3"].dims
    ('chain', 'draw', 'class_label', 'categorical_3_feature', 'categorical_3_category')

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
    from bayesnb.sampling import layout, nuts

    self.require_one_class_prior("sample_posterior")
    if sampler not in ("exact", "nuts", "gibbs"):
        raise ValueError(f"Expected sampler to be 'exact', 'nuts' or 'gibbs'; got {sampler!r}")
    if arguments and sampler == "exact":
        raise TypeError(f"exact draws take no arguments of pymc.sample; got {sorted(arguments)}")
    if sampler == "gibbs" and (odd := sorted(set(arguments) - {"tune", "thin"})):
        raise TypeError(f"Expected no argument of the Gibbs sampler but tune and thin; got {odd}")
    seed = self.seed if random_seed is None else random_seed
    rng = np.random.default_rng(seed)
    groups = drawing.exact(self.posterior, rng, (chains, draws))
    others: dict[str, Any] = {}
    labels_known = True
    if sampler == "nuts":
        summed_out = _summed_out(self, X, y)
        labels_known = summed_out is None
        sampled = nuts.sample(self.posterior, draws, chains, seed, summed_out, **arguments)
        groups["posterior"] = {name: sampled["posterior"][name].to_numpy() for name in groups["posterior"]}
        others["sample_stats"] = sampled["sample_stats"].dataset
    elif sampler == "gibbs":
        rows, drawn = _by_gibbs(self, X, y, draws, chains, rng, **arguments)
        labels_known = not len(rows.place)
        blocks = layout.blocks(self.posterior.model, self.statistics)
        groups["posterior"] = layout.variables(drawn.parameters, blocks)
        others = drawn.datasets(self.posterior.labels, rows.place)
    if unknown := set(include) - set(ROW_GROUPS) - {"log_prior"}:
        raise ValueError(f"Expected include to be of {[*ROW_GROUPS, 'log_prior']}; got {sorted(unknown)}")
    if "log_prior" in include:
        groups["log_prior"] = drawing.log_prior(groups["posterior"], self.posterior)
    include = [group for group in include if group != "log_prior"]
    if include or (X is not None and labels_known):
        groups |= _row_groups(self, groups, X, y, include, rng)
    tree = drawing.tree(groups, self.posterior)
    for group, dataset in others.items():
        tree[group] = DataTree(dataset)
    if sampler != "exact" and not (convergence := Convergence.of(tree)).converged:
        name = "NUTS" if sampler == "nuts" else "The Gibbs sampler"
        warnings.warn(f"{name} did not converge: {convergence}", UserWarning, stacklevel=2)
    return tree


def _by_gibbs(
    self: Classifier, X: Any, y: Any, draws: int, chains: int, rng: np.random.Generator, **steps: int
) -> tuple[_Learned, gibbs.Drawn]:
    """The learned rows, and draws of the parameters and of the labels that some of these rows lack."""
    from bayesnb.sampling import gibbs

    if X is None or y is None:
        raise ValueError(
            "the Gibbs sampler draws the labels of the learned rows that have none: pass the learned rows, as "
            'sample_posterior(sampler="gibbs", X=X, y=y)'
        )
    rows = _learned(self, X, y)
    if not (rows.weight == 1).all():
        raise ValueError(
            f"unlabelled_weight={self.unlabelled_weight:g} raises the likelihood of the unlabelled rows to that power, "
            'and the Gibbs sampler draws labels of whole rows: use sampler="nuts", or fit with unlabelled_weight=1'
        )
    alone = self.posterior.given(rows.labelled)
    return rows, gibbs.sample(alone, rows.data, len(rows.place), draws, chains, rng, **steps)


def _row_groups(
    self: Classifier, groups: Mapping[str, Any], X: Any, y: Any, include: Sequence[str], rng: np.random.Generator
) -> dict[str, Any]:
    """The groups of the DataTree that describe rows."""
    from bayesnb.sampling import draws as drawing
    from bayesnb.sampling import layout

    if X is None or y is None:
        raise ValueError("include speaks of rows: pass them as X and y")
    rows = Rows.of(X, y, None, self.unlabelled, self.schema).labelled()
    data, codes = self.schema.read(rows.table)[1], rows.target.among(self.classes)
    blocks = layout.blocks(self.posterior.model, self.statistics)
    groups_of_rows = {"observed_data": {"y": codes, **drawing.observed(data, blocks)}}
    for group in set(include) - {"log_likelihood"}:
        source = group.removesuffix("_predictive")
        if source not in groups:
            raise ImproperError(f"{group} needs a proper prior for every feature")
        drawn = layout.from_variables(groups[source], blocks, self.posterior)
        groups_of_rows[group] = drawing.predictive(drawn, self.statistics, len(codes), rng, blocks)
    if "log_likelihood" in include:
        drawn = layout.from_variables(groups["posterior"], blocks, self.posterior)
        joint = drawn.log_joint(data, len(codes))
        groups_of_rows["log_likelihood"] = {"y": joint[..., np.arange(len(codes)), codes]}
    return groups_of_rows
