"""The naive Bayes model: specification, sufficient statistics and posterior."""

from bayesnb.model.drawn import DrawnPosterior as DrawnPosterior
from bayesnb.model.naive_bayes import ESTIMATES as ESTIMATES
from bayesnb.model.naive_bayes import Estimate as Estimate
from bayesnb.model.naive_bayes import EstimateRule as EstimateRule
from bayesnb.model.naive_bayes import NaiveBayes as NaiveBayes
from bayesnb.model.naive_bayes import Parameters as Parameters
from bayesnb.model.naive_bayes import Posterior as Posterior
from bayesnb.model.naive_bayes import estimate_rule as estimate_rule
from bayesnb.model.probabilities import Evidence as Evidence
from bayesnb.model.probabilities import ImpossibleRowError as ImpossibleRowError
from bayesnb.model.probabilities import NoClosedFormError as NoClosedFormError
from bayesnb.model.probabilities import normalize as normalize
from bayesnb.model.statistics import Data as Data
from bayesnb.model.statistics import Statistics as Statistics
from bayesnb.model.statistics import about as about
from bayesnb.model.statistics import in_order as in_order
from bayesnb.model.statistics import part_of as part_of
from bayesnb.model.statistics import reliability_weights as reliability_weights
from bayesnb.model.statistics import united_labels as united_labels

__all__ = ["Evidence", "NaiveBayes", "Parameters", "Posterior", "Statistics", "normalize", "reliability_weights"]


def __dir__() -> list[str]:
    return __all__
