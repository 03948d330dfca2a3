"""How each estimate computes class probabilities from a posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from bayesnb.wording import meant

type Estimate = Literal["mle", "map", "mean", "predictive"]


@dataclass(frozen=True)
class EstimateRule:
    """How class probabilities follow from a posterior.

    Parameters
    ----------
    label : str
        Name of the estimate on an axis.
    point : {"mode", "mean"}
        The point of the posterior that is plugged in or shown.
    plugs_in : bool
        False if the parameters are integrated out.
    flat : bool
        True if flat priors replace the priors.
    """

    label: str
    point: Literal["mode", "mean"]
    plugs_in: bool = True
    flat: bool = False


ESTIMATES: Mapping[Estimate, EstimateRule] = MappingProxyType(
    {
        "mle": EstimateRule("MLE", "mode", flat=True),
        "map": EstimateRule("MAP", "mode"),
        "mean": EstimateRule("mean", "mean"),
        "predictive": EstimateRule("predictive", "mean", plugs_in=False),
    }
)
"""Every estimate by its name. A further one is one entry here."""


def estimate_rule(name: Estimate) -> EstimateRule:
    """The :class:`EstimateRule` of the estimate ``name``."""
    if not isinstance(name, str) or name not in ESTIMATES:
        raise ValueError(f"Expected estimate to be one of {list(ESTIMATES)}; got {name!r}" + meant(name, ESTIMATES))
    return ESTIMATES[name]
