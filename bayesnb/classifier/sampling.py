"""The model as one that makes data: new rows, the program in PyMC, its draws, and the check of one road by the other.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. PyMC and ArviZ are
imported when they are asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.data.rows import Rows
from bayesnb.data.targets import codes_of, labels_of
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data
from bayesnb.priors import Array, ImproperError

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree

    from bayesnb.classifier import Classifier
    from bayesnb.dependence import conditional
    from bayesnb.dependence.program import Verdict
    from bayesnb.sampling.agreement import Agreement


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

        return program.pymc_model(_second_stage(self, X, y, sample_weight), self.dependence.exponents)
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


def _second_stage(self: Classifier, X: Any = None, y: Any = None, sample_weight: Any = None) -> conditional.Rows:
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

    if X is None or y is None:
        return None
    rows = Rows.of(X, y, None, self.unlabelled, self.schema)
    if rows.target.complete:
        return None
    rows = rows.weighing_unlabelled(self.unlabelled_weight)
    if not np.isclose(rows.weight.sum(), self.statistics.rows.sum()):
        raise ValueError(
            f"rows of weight {rows.weight.sum():g} were given and rows of weight {self.statistics.rows.sum():g} were "
            "learned: pass exactly the rows that were learned, with the unlabelled ones, and no sample weights"
        )
    data = self.schema.read(rows.table)[1]
    counted, free, weight = rows.split(self.posterior.model, data, self.classes)
    return pymc_model.summed_out(self.posterior, counted, free, weight)


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
    sampler : {"exact", "nuts"}
        Independent draws of the conjugate posterior, or NUTS on the PyMC model. Both give the same variables,
        dimensions and coordinates.
    random_seed : int, optional
        The estimator's ``random_state`` by default.
    X, y : table and labels, optional
        Rows for ``include``. They also become part of ``observed_data``, as class codes and encoded columns. For
        "nuts", the learned rows if some of them have no label; these labels are summed out.
    include : of "posterior_predictive", "prior_predictive", "log_likelihood"
        Replicates of those rows from every draw, and log p(x_i, y_i | θ) for ``arviz.loo``, under the name ``y``,
        by which ArviZ pairs it with what is observed. Checks that are for one variable are told which:
        ``arviz.plot_ppc_pava(tree, var_names="y")``, ``arviz.plot_loo_pit(tree, var_names="y")``.
    **arguments
        Of ``pymc.sample``, for "nuts".

    Returns
    -------
    DataTree
        Groups ``posterior``, ``prior`` (where it is proper), ``observed_data`` and ``constant_data``;
        ``sample_stats`` for "nuts".

    Warns
    -----
    UserWarning
        If NUTS did not converge, with r_hat, effective draws and divergences.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> tree = clf.sample_posterior(draws=100, chains=2)
    >>> tree["posterior"]["theta_categorical_3"].dims
    ('chain', 'draw', 'class_label', 'categorical_3_feature', 'categorical_3_category')
    """
    from bayesnb.chains import Convergence
    from bayesnb.sampling import draws as drawing
    from bayesnb.sampling import nuts

    self.require_one_class_prior("sample_posterior")
    if sampler not in ("exact", "nuts"):
        raise ValueError(f"Expected sampler to be 'exact' or 'nuts'; got {sampler!r}")
    if arguments and sampler == "exact":
        raise TypeError(f"exact draws take no arguments of pymc.sample; got {sorted(arguments)}")
    seed = self.seed if random_seed is None else random_seed
    rng = np.random.default_rng(seed)
    groups = drawing.exact(self.posterior, rng, (chains, draws))
    if sampler == "nuts":
        summed_out = _summed_out(self, X, y)
        sampled = nuts.sample(self.posterior, draws, chains, seed, summed_out, **arguments)
        groups["posterior"] = {name: sampled["posterior"][name].to_numpy() for name in groups["posterior"]}
    if include or (X is not None and not (sampler == "nuts" and summed_out is not None)):
        groups |= _row_groups(self, groups, X, y, include, rng)
    tree = drawing.tree(groups, self.posterior)
    if sampler == "exact":
        return tree
    tree["sample_stats"] = sampled["sample_stats"]
    convergence = Convergence.of(tree)
    if not convergence.converged:
        warnings.warn(f"NUTS did not converge: {convergence}", UserWarning, stacklevel=2)
    return tree


def _row_groups(
    self: Classifier, groups: Mapping[str, Any], X: Any, y: Any, include: Sequence[str], rng: np.random.Generator
) -> dict[str, Any]:
    """The groups of the DataTree that describe rows."""
    from bayesnb.sampling import draws as drawing
    from bayesnb.sampling import layout

    known = ("posterior_predictive", "prior_predictive", "log_likelihood")
    if odd := set(include) - set(known):
        raise ValueError(f"Expected include to be of {list(known)}; got {sorted(odd)}")
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


def verify(
    self: Classifier,
    X: Any = None,
    sampler: str = "nuts",
    draws: int = 1000,
    chains: int = 4,
    random_seed: Any = None,
    tree: DataTree | None = None,
    learned: tuple[Any, ...] | None = None,
    stage: str = "parameters",
    **arguments: Any,
) -> Agreement | Verdict:
    """Hold the closed form against sampled draws.

    Parameters
    ----------
    X : table, optional
        Rows whose factors and class predictive are compared; 20 rows drawn from the model if not given.
    sampler : {"nuts", "exact"}
        The independent judge, or exact draws (which judge the predictives but not the posterior).
    draws, chains, random_seed, **arguments
        As in :meth:`sample_posterior`.
    tree : DataTree, optional
        Draws to judge by instead, of this model written down or fitted elsewhere; variables and coordinates as
        those of :meth:`sample_posterior`.
    learned : (X, y), optional
        The learned rows, needed where some have no label: NUTS then samples the model with their labels summed out.
        The closed form of such a fit takes labels as expected counts, and the two disagree. For the exponents, the
        rows that these were learned from, (X, y) or (X, y, sample_weight).
    stage : {"parameters", "exponents"}
        What is judged: the parameters of the columns; or, with a dependence, the exponents, whose posterior is
        Laplace's approximation, corrected where it is far off.

    Returns
    -------
    Agreement
        ``.agrees``, ``.to_frame()``, ``.plug_ins``, ``.plot()``.
    Verdict
        For the exponents: ``.agrees``, ``.parameters`` (a table), ``.probability``, and all of it in words as ``str``.

    Raises
    ------
    ConvergenceError
        If the chains did not converge.
    ValueError
        If rows without a label were learned and neither ``learned`` nor ``tree`` is given.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> clf.verify(X[:2], sampler="exact").agrees
    True
    """
    from bayesnb.sampling import agreement

    if stage not in ("parameters", "exponents"):
        raise ValueError(f"Expected stage to be 'parameters' or 'exponents'; got {stage!r}")
    if stage == "exponents":
        return _verdict(self, learned, sampler, draws, chains, random_seed, arguments)
    self.require_one_class_prior("verify")
    if self.expected and tree is None and (learned is None or sampler == "exact"):
        raise ValueError(
            "rows without a label were learned as expected counts, and to sample the posterior of those counts "
            "would only repeat them: pass the learned rows, verify(learned=(X, y)), and NUTS sums the labels out, "
            "or pass such draws as tree"
        )
    seed = self.seed if random_seed is None else random_seed
    if X is None:
        n = 20
        drawn = _sample_encoded(self, n, None, np.random.default_rng(seed))[0]
        data = {name: feature.read(drawn[name]) for name, feature in self.schema.features.items()}
    else:
        data, n = self.read(X)
    if tree is not None:
        return agreement.check(self.posterior, tree, data, n, "given draws")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="NUTS did not converge")
        rows, labels = learned or (None, None)
        tree = self.sample_posterior(draws, chains, sampler, seed, rows, labels, **arguments)
    return agreement.check(self.posterior, tree, data, n, sampler)


def _verdict(
    self: Classifier,
    learned: tuple[Any, ...] | None,
    sampler: str,
    draws: int,
    chains: int,
    random_seed: Any,
    arguments: Mapping[str, Any],
) -> Verdict:
    """How far the posterior of the exponents is from what NUTS makes of them."""
    from bayesnb.dependence import program

    rows = _second_stage(self, *(learned or ()))
    if sampler != "nuts":
        raise ValueError(f'the exponents are judged by sampler="nuts"; got {sampler!r}')
    seed = 0 if self.seed is None else self.seed
    seed = seed if random_seed is None else random_seed
    names = labels_of(self.classes), self.dependence.offset_names(self.posterior)
    judge = {"draws": draws, "chains": chains, "random_seed": seed, **arguments}
    return program.verify(rows, self.dependence.exponents, *names, **judge)
