"""Conjugate priors and posteriors; their parameters are arrays (class, column[, level])."""

from bayesnb.numerics import Array as Array
from bayesnb.numerics import Size as Size
from bayesnb.numerics import log as log
from bayesnb.numerics import log_rising as log_rising
from bayesnb.priors.belief import UNSEEN as UNSEEN
from bayesnb.priors.belief import Belief as Belief
from bayesnb.priors.belief import BoundaryError as BoundaryError
from bayesnb.priors.belief import ImproperError as ImproperError
from bayesnb.priors.belief import Prior as Prior
from bayesnb.priors.belief import Theta as Theta
from bayesnb.priors.belief import constant as constant
from bayesnb.priors.belief import positive_scale as positive_scale
from bayesnb.priors.belief import shared as shared
from bayesnb.priors.belief import spread as spread
from bayesnb.priors.beta import Beta as Beta
from bayesnb.priors.beta import Outcome as Outcome
from bayesnb.priors.beta_tree import BetaTree as BetaTree
from bayesnb.priors.class_prior import FixedProbabilities as FixedProbabilities
from bayesnb.priors.compound import AllOf as AllOf
from bayesnb.priors.compound import Compound as Compound
from bayesnb.priors.compound import OneOf as OneOf
from bayesnb.priors.dirichlet import Dirichlet as Dirichlet
from bayesnb.priors.gamma import Gamma as Gamma
from bayesnb.priors.normal import Normal as Normal
from bayesnb.priors.normal_gamma import NormalGamma as NormalGamma
from bayesnb.priors.normal_wishart import NormalWishart as NormalWishart
from bayesnb.statistics.statistic import UnlearnedError as UnlearnedError
from bayesnb.statistics.statistic import first as first

__all__ = [
    "UNSEEN", "AllOf", "Beta", "BetaTree", "Compound", "Dirichlet", "FixedProbabilities", "Gamma", "Normal",
    "NormalGamma", "NormalWishart", "OneOf", "Prior",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
