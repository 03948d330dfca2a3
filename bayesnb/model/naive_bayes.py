"""The specification of a model: :class:`NaiveBayes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bayesnb.families.family import Family
from bayesnb.families.membership import Membership
from bayesnb.families.statistic import Statistic
from bayesnb.kernels.blocks import table
from bayesnb.model import stacks
from bayesnb.model.posterior import Posterior
from bayesnb.model.statistics import Data, Statistics, about
from bayesnb.priors import Dirichlet, FixedProbabilities, Prior


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """The generative model: π ~ label prior, y ~ Categorical(π), x_f | y = c ~ family_f(θ_cf).

    Parameters
    ----------
    features : {name: Family}
    label : Dirichlet or FixedProbabilities
        Prior of the class probabilities.
    columns : {name: column names}, optional
        The names of the columns of a feature with several columns, which become coordinates of draws.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import Bernoulli, NaiveBayes
    >>> from bayesnb.families.membership import Labels
    >>> model = NaiveBayes({"wet": Bernoulli()})
    >>> data = {"wet": np.array([[1.0], [0.0], [1.0]])}
    >>> labels = Labels(np.array([0, 0, 1]), np.ones(3), 2)
    >>> posterior = model.posterior(model.statistics(data, labels, ["spring", "summer"]))
    >>> np.exp(posterior.log_joint(data, 3)).round(3)
    array([[0.3  , 0.267],
           [0.3  , 0.133],
           [0.3  , 0.267]])
    """

    features: Mapping[str, Family]
    label: Dirichlet | FixedProbabilities = field(default_factory=Dirichlet)
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def flat(self) -> NaiveBayes:
        """The same likelihood under flat priors, whose mode is maximum likelihood."""
        self.require_exact("maximum likelihood", 'use estimate="predictive" or "mean"')
        families = {name: family.flat() for name, family in self.features.items()}
        return replace(self, features=families, label=self.label.flat())

    def named_classes(self, labels: Sequence[Any]) -> list[Any]:
        """The classes that priors name, whether or not a row has them.

        They are named by the class prior, and by the prior of a feature that is given as {class: prior}. A class prior
        that is an array goes by position, so it names all ``labels``.
        """
        named = self.label.named_classes(labels)
        for family in self.features.values():
            if isinstance(family.prior, Mapping):
                named += family.prior
        return list(dict.fromkeys(named))

    @property
    def exact(self) -> bool:
        """Whether the posterior of every feature is a formula."""
        return all(family.exact for family in self.features.values())

    def require_exact(self, what: str, cure: str) -> None:
        """Raise ``ValueError``, naming the first feature that is sampled, where ``what`` needs a closed form."""
        for name, family in self.features.items():
            if not family.exact:
                raise ValueError(
                    f"feature {name!r}: {type(family).__name__} is sampled and has no closed form for {what}; {cure}"
                )

    def require_left_out(self) -> None:
        """Raise ``ValueError``, naming the feature, where leave-one-out has no closed form."""
        self.require_exact("leave-one-out", "fit without the rows and predict them, as cross-validation does")

    def statistics(self, data: Data, members: Membership, labels: Sequence[Any]) -> Statistics:
        """Sufficient statistics of the rows.

        Parameters
        ----------
        data : {name: encoded column}
            As the family of that name reads it.
        members : Labels or Responsibilities
            Over as many classes as there are ``labels``.
        labels : sequence
        """

        def summed(family: Family, x: Any) -> Statistic:
            return family.statistic(x, members)

        with table(len(members) * len(self.features)):
            each = stacks.each(
                self.features, len(members), summed, lambda name: about(f"feature {name!r}", labels), data
            )
        return Statistics(tuple(labels), members.weights(), each)

    def posterior(self, statistics: Statistics) -> Posterior:
        """The posterior of all factors. It may be improper; only methods that need a proper one raise an error."""

        def learned(family: Family, s: Statistic) -> tuple[Prior, Prior]:
            prior = family.priors(s, statistics.labels)
            return prior, family.update(prior, s)

        both = stacks.each(self.features, len(statistics.labels), learned, statistics.about, statistics.features)
        prior, believed = ({name: pair[k] for name, pair in both.items()} for k in (0, 1))
        label_prior = self.label.over_classes(statistics.labels, statistics.rows)
        label = label_prior.update(statistics.rows)
        return Posterior(self, statistics, label_prior, prior, label, believed)
