"""Convert the priors that users pass: names of constructors, and distributions of scipy or PreliZ."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesnb.priors.belief import Belief, Prior
from bayesnb.priors.beta import Beta
from bayesnb.priors.dirichlet import Dirichlet
from bayesnb.priors.gamma import Gamma
from bayesnb.priors.normal import Normal
from bayesnb.priors.normal_gamma import NormalGamma
from bayesnb.wording import meant_of_all

SCIPY: Mapping[type[Belief], Mapping[str, Callable[..., Prior | None]]] = {
    Beta: {
        "beta": lambda a, b, loc, scale: Beta(a, b) if (loc, scale) == (0, 1) else None,
        "uniform": lambda loc, scale: Beta(1.0, 1.0) if (loc, scale) == (0, 1) else None,
    },
    Gamma: {
        "gamma": lambda a, loc, scale: Gamma(a, 1 / scale) if loc == 0 else None,
        "erlang": lambda a, loc, scale: Gamma(a, 1 / scale) if loc == 0 else None,
        "expon": lambda loc, scale: Gamma(1.0, 1 / scale) if loc == 0 else None,
        "chi2": lambda df, loc, scale: Gamma(df / 2, 1 / (2 * scale)) if loc == 0 else None,
    },
    Normal: {"norm": lambda loc, scale: Normal(loc, scale**2)},
    Dirichlet: {"dirichlet": lambda alpha: Dirichlet(alpha)},
    NormalGamma: {"normal_inverse_gamma": lambda mu, lmbda, a, b: NormalGamma(mu, lmbda, a, b)},
}
"""For each prior, the ``scipy.stats`` distributions that can be converted to it, with scipy's parameters.

If the variance is InverseGamma(a, b), the precision is Gamma(a, rate b), so ``normal_inverse_gamma`` is a NormalGamma.
"""

PRELIZ: Mapping[type[Belief], Mapping[str, Callable[[Any], Prior]]] = {
    Beta: {"Beta": lambda d: Beta(d.alpha, d.beta)},
    Gamma: {
        "Gamma": lambda d: Gamma(d.alpha, d.beta),
        "Exponential": lambda d: Gamma(1.0, d.lam),
        "ChiSquared": lambda d: Gamma(d.nu / 2, 0.5),
    },
    Normal: {"Normal": lambda d: Normal(d.mu, d.sigma**2)},
    Dirichlet: {"Dirichlet": lambda d: Dirichlet(d.alpha)},
    NormalGamma: {},
}
"""For each prior, the PreliZ distributions that can be converted to it."""


def read_prior(given: Any, kind: type[Belief]) -> Any:
    """Convert a prior that a user passes to a prior of this package; return other values unchanged.

    Parameters
    ----------
    given : str, frozen distribution of scipy.stats, distribution of PreliZ, {class: any of these}, or anything else
        A text, such as "jeffreys", names a constructor of the class ``kind``.
    kind : type

    Raises
    ------
    ValueError
        If ``kind`` has no constructor of the given name, or the given distribution cannot be converted to ``kind``.

    Examples
    --------
    >>> from scipy import stats
    >>> from bayesnb import Bernoulli, Gaussian
    >>> Bernoulli(stats.beta(2, 5))
    Bernoulli(prior=Beta(alpha=2, beta=5))
    >>> Gaussian("reference")
    Gaussian(prior=NormalGamma(m=0, kappa=0, a=-0.5, b=0))
    """
    if isinstance(given, Belief):
        return given
    if isinstance(given, Mapping):
        read = {label: read_prior(each, kind) for label, each in given.items()}
        return given if all(read[label] is each for label, each in given.items()) else read
    if isinstance(given, str):
        return _named(given, kind)
    # A user who passes such a distribution has imported its module, so nothing is imported here.
    stats, preliz = sys.modules.get("scipy.stats"), sys.modules.get("preliz")
    if stats is not None and (found := _frozen(given, stats)) is not None:
        name, parameters = found
        makers, source = SCIPY.get(kind, {}), f"scipy.stats.{name}"
        prior = makers[name](**parameters) if name in makers else None
    elif getattr(preliz, type(given).__name__, None) is type(given):
        name, makers = type(given).__name__, PRELIZ.get(kind, {})
        source = f"preliz.{name}"
        if not given.is_frozen:
            raise ValueError(f"{source} has no parameters yet: give it numbers, or find them with preliz.maxent")
        prior = makers[name](given) if name in makers else None
    else:
        return given
    if prior is None:
        known = ", ".join(makers) or "none"
        raise ValueError(
            f"{source} with these parameters is not a {kind.__name__} prior: write {kind.__name__}(...) instead "
            f"(distributions that can be converted to {kind.__name__}: {known})"
        )
    return prior


def _named(name: str, kind: type[Belief]) -> Belief:
    if name.lower() in kind.by_name:
        return getattr(kind, name.lower())()
    what = f"{kind.__name__} priors with a name are {', '.join(kind.by_name)}"
    raise ValueError(f"no {kind.__name__} prior is called {name!r}" + meant_of_all(name, kind.by_name, what))


def _frozen(given: Any, stats: Any) -> tuple[str, dict[str, Any]] | None:
    distribution = getattr(given, "dist", None)
    if isinstance(distribution, stats.rv_continuous | stats.rv_discrete):
        shapes = [name.strip() for name in (distribution.shapes or "").split(",") if name.strip()]
        names = [*shapes, "loc", "scale"] if isinstance(distribution, stats.rv_continuous) else [*shapes, "loc"]
        parameters = {"loc": 0, "scale": 1} if "scale" in names else {"loc": 0}
        return distribution.name, parameters | dict(zip(names, given.args, strict=False)) | dict(given.kwds)
    # Each frozen multivariate distribution has its own class, without a common way to read its parameters.
    if isinstance(given, type(stats.dirichlet([1.0, 1.0]))):
        return "dirichlet", {"alpha": np.asarray(given.alpha, float)}
    if isinstance(given, type(stats.normal_inverse_gamma())):
        return "normal_inverse_gamma", dict(zip(("mu", "lmbda", "a", "b"), given._shapes, strict=True))
    return None
