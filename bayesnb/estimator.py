"""The scikit-learn shell: names and checks around the model, and no formula.

:class:`BayesianNB` is the class most users want, and often the only one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesnb import explain, unlabelled
from bayesnb.families.membership import Labels, blocks
from bayesnb.learner import Learner, labelled_statistics, part_of
from bayesnb.model import (
    Data,
    Estimate,
    Evidence,
    Parameters,
    normalize,
)
from bayesnb.priors import Array, ImproperError
from bayesnb.targets import codes_of

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree

    from bayesnb.agreement import Agreement


class BayesianNB(ClassifierMixin, Learner):
    """Naive Bayes classifier with conjugate priors, for any mixture of column types.

    Parameters
    ----------
    features : family, {column: family} or {name: (family, [columns])}, optional
        What is told of the columns; the others get a family by their type (bool and integers of 0 and 1:
        Bernoulli; text and categories: Categorical; numbers: Gaussian; a sparse matrix: Multinomial).
    class_prior : Dirichlet, {label: probability}, array, "frequencies" or "uniform", optional
        Prior of the class probabilities, Dirichlet(1) by default. Probabilities are taken as known; an
        array is in the order of ``classes_``.
    estimate : {"predictive", "mean", "map", "mle"}
        Which probabilities to predict: all parameters integrated out (full Bayes), or a plug-in at the
        posterior mean, at the posterior mode, or at the maximum of the likelihood.
    unseen : {"missing", "new", "error"}
        What a level is that no fit has seen: integrated out, the one reserved cell, or an error.
    absent : {"error", "missing"}
        What a fitted column is that a table to predict does not have.
    unlabelled : label, optional
        What stands for "no label" in ``y``, beside missing values (None, NaN, pd.NA): -1, for scikit-learn's
        semi-supervised convention. By default -1 is a class like any other.
    unlabelled_weight : float
        λ, what an unlabelled row counts beside a labelled one; 0 leaves unlabelled rows out.
    em_starts : int
        From how many starting points to fit rows without a label; the best is kept.
    random_state : int, Generator or None
        Seed of ``sample``, of ``sample_proba`` and of further starts; predictions need none.

    Attributes
    ----------
    classes_ : array (class,)
        Class labels, sorted.
    class_count_ : array (class,)
        Weight of the rows of each class.
    schema_ : Schema
        Which family reads which column.
    statistics_ : Statistics
        All that was kept of the rows. Statistics add.
    posterior_ : Posterior
        What is believed after the data.
    em_ : EM
        How the last ``fit`` with unlabelled rows went; only then. Its rows are those without a label (and with a
        weight), and ``statistics_`` are then the labelled rows' plus λ times the expected ones of these rows.
    n_features_in_ : int
    feature_names_in_ : array of str

    Notes
    -----
    Sample weights are frequency weights: 2 is the row seen twice. Of equally probable classes ``predict``
    takes the first. Every row is predicted by itself.

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

    # Predicting

    def _encoded(self, X: Any) -> tuple[Data, int]:
        check_is_fitted(self)
        table = self._table(X)
        return self.schema_.read(table, absent=self.absent)[1], table.n_rows

    def _log_joint(self, X: Any) -> Array:
        data, n = self._encoded(X)
        if self._plug_in is not None:
            return self._plug_in.log_joint(data, n)
        return self.posterior_.log_predictive(data, n)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, (row,)."""
        log_joint = self._log_joint(X)
        normalize(log_joint)
        return self.classes_[log_joint.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """p(c | x, D) by the chosen estimate, (row, class).

        Raises
        ------
        ImpossibleRowError
            If a row has probability 0 under every class (only plug-ins can say so).
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """log p(c | x, D), (row, class)."""
        return normalize(self._log_joint(X))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(c, x | D), (row, class): not normalized, so its logsumexp says how probable the row is."""
        return self._log_joint(X)

    def sample_proba(self, X: Any, draws: int = 1000) -> Array:
        """p(c | x, θ) at exact independent posterior draws of θ, (draw, row, class).

        Their spread is the uncertainty of the class probability. Their mean is not ``predict_proba``, which
        is a ratio of averages and not an average of ratios.
        """
        data, n = self._encoded(X)
        if draws < 1:
            raise ValueError(f"Expected at least one draw; got {draws!r}")
        rng = self._generator()
        parts = [self.posterior_.draw(rng, (cut.stop - cut.start,)) for cut in _cuts(draws, 512)]
        return np.concatenate([np.exp(normalize(part.log_joint(data, n))) for part in parts])

    def loo(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """Exact leave-one-out predictive of rows that were learned.

        Parameters
        ----------
        X, y, sample_weight
            The rows, as they were learned. The estimator keeps no rows, so they are asked for again.

        Returns
        -------
        DataFrame (row, ...)
            ``log_density``, log p(x_i, y_i | D without row i); and under ``probability`` one column a class,
            p(c | x_i, D without row i). By the chosen estimate. A prior that was scaled to the data keeps
            that scale.
        """
        log_joint, codes = self._left_out(X, y, sample_weight, self.estimate)
        proba = np.exp(normalize(log_joint))
        columns = {("log_density", ""): log_joint[np.arange(len(codes)), codes]}
        columns |= {("probability", label): proba[:, c] for c, label in enumerate(self.classes_)}
        return pd.DataFrame(columns, index=X.index if isinstance(X, pd.DataFrame) else None)

    def _left_out(self, X: Any, y: Any, sample_weight: Any, estimate: Estimate) -> tuple[Array, Array]:
        check_is_fitted(self)
        self._require_counted("leave-one-out is exact for rows that were counted")
        table, y, weight = self._rows(X, y, sample_weight, known=True)
        _, data = self.schema_.read(table)
        codes = codes_of(self.classes_, y)
        labels = Labels(codes, weight, len(self.classes_))
        return self.posterior_.log_left_out(data, labels, estimate), codes

    def sample(self, n: int = 1, label: Any = None) -> pd.DataFrame:
        """New rows from the model, with a column for the class.

        Parameters
        ----------
        n : int
        label : optional
            A class to sample from; by default each row draws its own.

        Returns
        -------
        DataFrame (n, ...)
            The label under "y" (or "y_" if a column is called so), then the fitted columns. With
            ``estimate="predictive"`` each row has its own draw of the parameters.
        """
        check_is_fitted(self)
        chosen = None if label is None else int(codes_of(self.classes_, np.asarray([label]))[0])
        return self._sample_rows(n, chosen, self._generator())

    def _sample_rows(self, n: int, chosen: int | None, rng: np.random.Generator) -> pd.DataFrame:
        parts = [self._sample_block(cut.stop - cut.start, chosen, rng) for cut in _cuts(n, 1024)]
        return pd.concat(parts, ignore_index=True) if parts else self._sample_block(0, chosen, rng)

    def _sample_block(self, n: int, chosen: int | None, rng: np.random.Generator) -> pd.DataFrame:
        theta = self.posterior_.draw(rng, (n,)) if self._plug_in is None else self._plug_in.repeated(n)
        noisy = theta.log_pi + rng.gumbel(size=theta.log_pi.shape)
        codes = noisy.argmax(-1) if chosen is None else np.full(n, chosen)
        own = theta.at((np.arange(n), codes))
        encoded = {
            name: family.sample(own.features[name], rng, self.statistics_.features[name])
            for name, family in self.posterior_.model.features.items()
        }
        frame = self.schema_.decode(encoded)
        frame.insert(0, "y" if "y" not in frame else "y_", self.classes_[codes])
        return frame

    # The sampler's road

    def to_pymc(self, X: Any = None, y: Any = None, likelihood: str = "sufficient") -> pm.Model:
        """The fitted model written out in PyMC.

        Parameters
        ----------
        X, y : table and labels, optional
            The rows to observe with ``likelihood="rows"``; they must be those that were learned. Where some have
            no label, it is summed out, in a Potential ``unlabelled``. (Without them, the expected counts that EM
            arrived at are observed as if they were counts.)
        likelihood : {"sufficient", "rows"}
            Observe what was learned as sufficient statistics, at a cost that does not grow with the rows, or
            row by row. Both have the same log density.
        """
        from bayesnb import generative

        check_is_fitted(self)
        if likelihood == "rows":
            self._require_counted("likelihood='rows' observes the label of every row")
        elif (summed_out := self._summed_out(X, y)) is not None:
            return summed_out
        data = codes = None
        if X is not None:
            table, y, weight = self._rows(X, y, None, known=True)
            data, codes = self.schema_.read(table)[1], codes_of(self.classes_, y)
            if not np.isclose(weight.sum(), self.class_count_.sum()):
                raise ValueError(
                    f"{len(y)} rows were given and rows of weight {self.class_count_.sum():g} were learned: "
                    "likelihood='rows' observes exactly the learned rows, unweighted"
                )
        return generative.build(self.posterior_, data, codes, likelihood)

    def _summed_out(self, X: Any, y: Any) -> pm.Model | None:
        """The PyMC model of learned rows of which some have no label; ``None`` where all have one."""
        if X is None or y is None:
            return None
        table, y, weight, labelled = self._any_rows(X, y, None, known=True)
        if labelled.all():
            return None
        weight = np.where(labelled, weight, weight * self.unlabelled_weight)
        if not np.isclose(weight.sum(), self.class_count_.sum()):
            raise ValueError(
                f"rows of weight {weight.sum():g} were given and rows of weight {self.class_count_.sum():g} were "
                "learned: pass exactly the rows that were learned, with the unlabelled ones, and no sample weights"
            )
        data = self.schema_.read(table)[1]
        counted = labelled_statistics(self.posterior_.model, data, y, weight, labelled, self.classes_)
        free = np.flatnonzero(~labelled)
        return unlabelled.build(self.posterior_, counted, part_of(data, free), len(free), row_weight=weight[free])

    def sample_posterior(
        self,
        draws: int = 1000,
        chains: int = 4,
        sampler: str = "exact",
        random_seed: Any = None,
        X: Any = None,
        y: Any = None,
        include: Sequence[str] = (),
        **arguments: Any,
    ) -> DataTree:
        """Posterior draws of all parameters as an ArviZ ``DataTree``.

        Parameters
        ----------
        draws, chains : int
        sampler : {"exact", "nuts"}
            Independent draws of the conjugate posterior, or NUTS on the PyMC model. Variables, dimensions and
            coordinates are the same.
        random_seed : int, optional
            ``random_state`` where not given.
        X, y : table and labels, optional
            Rows for ``include``; they also join ``observed_data``, as class codes and encoded columns. For "nuts",
            the learned rows, where some have no label: it is summed out.
        include : of "posterior_predictive", "prior_predictive", "log_likelihood"
            Replicates of those rows from every draw, and log p(x_i, y_i | θ) as ``joint`` for ``arviz.loo``.
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
        """
        from bayesnb import agreement, generative
        from bayesnb import draws as drawing

        check_is_fitted(self)
        if sampler not in ("exact", "nuts"):
            raise ValueError(f"Expected sampler to be 'exact' or 'nuts'; got {sampler!r}")
        if arguments and sampler == "exact":
            raise TypeError(f"exact draws take no arguments of pymc.sample; got {sorted(arguments)}")
        seed = self.random_state if random_seed is None else random_seed
        rng = np.random.default_rng(seed)
        groups = drawing.exact(self.posterior_, rng, (chains, draws))
        if sampler == "nuts":
            summed_out = self._summed_out(X, y)
            sampled = generative.sample(self.posterior_, draws, chains, seed, summed_out, **arguments)
            groups["posterior"] = {name: sampled["posterior"][name].to_numpy() for name in groups["posterior"]}
        if include or (X is not None and not (sampler == "nuts" and summed_out is not None)):
            groups |= self._row_groups(groups, X, y, include, rng)
        tree = drawing.tree(groups, self.posterior_)
        if sampler == "exact":
            return tree
        tree["sample_stats"] = sampled["sample_stats"]
        convergence = agreement.Convergence.of(tree)
        if not convergence.converged:
            warnings.warn(f"NUTS did not converge: {convergence}", UserWarning, stacklevel=2)
        return tree

    def _row_groups(
        self, groups: Mapping[str, Any], X: Any, y: Any, include: Sequence[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        """The groups that speak of rows."""
        from bayesnb import draws as drawing

        known = ("posterior_predictive", "prior_predictive", "log_likelihood")
        if odd := set(include) - set(known):
            raise ValueError(f"Expected include to be of {list(known)}; got {sorted(odd)}")
        if X is None or y is None:
            raise ValueError("include speaks of rows: pass them as X and y")
        table, y, _ = self._rows(X, y, None, known=True)
        data, codes = self.schema_.read(table)[1], codes_of(self.classes_, y)
        layout = drawing.blocks(self.posterior_.model, self.statistics_)
        found = {"observed_data": {"y": codes, **drawing.observed(data, layout)}}
        for group in set(include) - {"log_likelihood"}:
            source = group.removesuffix("_predictive")
            if source not in groups:
                raise ImproperError(f"{group} needs a proper prior for every feature")
            drawn = drawing.from_variables(groups[source], layout, self.posterior_)
            found[group] = drawing.predictive(drawn, self.statistics_, len(codes), rng, layout)
        if "log_likelihood" in include:
            drawn = drawing.from_variables(groups["posterior"], layout, self.posterior_)
            joint = drawn.log_joint(data, len(codes))
            found["log_likelihood"] = {"joint": joint[..., np.arange(len(codes)), codes]}
        return found

    def verify(
        self,
        X: Any = None,
        sampler: str = "nuts",
        draws: int = 1000,
        chains: int = 4,
        random_seed: Any = None,
        **arguments: Any,
    ) -> Agreement:
        """Hold the closed form against sampled draws.

        Parameters
        ----------
        X : table, optional
            Rows whose factors and class predictive are compared; 20 rows drawn from the model if not given.
        sampler : {"nuts", "exact"}
            The independent judge, or exact draws (which judge the predictives but not the posterior).

        Returns
        -------
        Agreement
            ``.agrees``, ``.to_frame()``, ``.plug_ins``, ``.plot()``.

        Raises
        ------
        ConvergenceError
            If the chains did not converge.
        """
        from bayesnb import agreement

        check_is_fitted(self)
        seed = self.random_state if random_seed is None else random_seed
        if X is None:
            frame = self._sample_rows(20, None, np.random.default_rng(seed))
            X = frame.drop(columns=frame.columns[0])
        data, n = self._encoded(X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="NUTS did not converge")
            tree = self.sample_posterior(draws, chains, sampler, seed, **arguments)
        return agreement.check(self.posterior_, tree, data, n, sampler)

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state)

    # Looking inside

    @property
    def log_evidence_(self) -> Evidence:
        """Log marginal likelihood of what was learned: ``.joint`` is log p(X, y), ``.conditional`` log p(X | y)."""
        check_is_fitted(self)
        self._require_counted("rows that were counted have a marginal likelihood")
        return self.posterior_.log_evidence()

    def _point(self) -> Parameters:
        """The parameters to show: those plugged in, or the posterior mean."""
        check_is_fitted(self)
        return self.posterior_.mean() if self._plug_in is None else self._plug_in

    def tables(self) -> dict[Any, pd.DataFrame]:
        """The parameters of each feature as a table, and the class probabilities under "(class)".

        At the chosen estimate (the posterior mean for "predictive"): probabilities of levels, "mean" and "sd"
        of reals, "rate" of counts; one row a class (and column).
        """
        point = self._point()
        return explain.parameter_tables(self.schema_, point, self.classes_)

    def linear_form(self) -> tuple[pd.DataFrame, pd.Series]:
        """The classifier as softmax regression: p(c | x) ∝ exp(γ_c + β_c · φ(x)).

        Returns
        -------
        weights : DataFrame (term, class)
            β. A term is (column, level) for a categorical feature, where φ is 1 at the level the row has,
            and (column, "") for a number, where φ is its value.
        intercept : Series (class,)
            γ.

        Raises
        ------
        ValueError
            Where the log-odds are not linear, naming the feature: Gaussians whose variance differs between
            classes, and predictives that are not plug-ins (use ``estimate="mean"``).

        References
        ----------
        Murphy, PML1, 9.3.3; Mitchell (2017), Generative and discriminative classifiers.
        """
        point = self._point()
        return explain.linear_form(self.schema_, point, self.classes_, self.estimate)

    def describe(self) -> pd.DataFrame:
        """One row a feature: family, prior, columns, levels, share of missing values, why this family."""
        check_is_fitted(self)
        return self.schema_.describe(self.statistics_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # `sparse` promises any floats and `string` any object; counts and text are welcome all the same.
        return tags


def _cuts(n: int, size: int) -> list[slice]:
    """Slices that cover ``n`` exactly."""
    return [slice(cut.start, min(cut.stop, n)) for cut in blocks(n, size)] if n else []
