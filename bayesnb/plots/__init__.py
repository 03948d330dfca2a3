"""Results as pictures: each function takes what the estimator or an evaluation returned, and returns a Figure.

Start with :func:`ledger`, for one row, and :func:`reliability`, for all rows. The functions do not show the figure, and
pyplot does not keep it: ``figure.savefig`` writes a picture, and a notebook shows it after ``%matplotlib inline``.
``parameters``, ``rows``, ``regions``, ``pairs``, ``checks``, ``sensitivity`` and ``scores`` hold one kind of
picture each.
"""

from bayesnb.inference.scoring import reliability_table
from bayesnb.plots.checks import predictive_checks
from bayesnb.plots.pairs import independence
from bayesnb.plots.panels import OKABE_ITO
from bayesnb.plots.parameters import prior_posterior
from bayesnb.plots.regions import decision_regions
from bayesnb.plots.rows import class_probability, ledger, uncertainty_scatter
from bayesnb.plots.scores import map_against_bayes, reliability, worth_of_rows
from bayesnb.plots.sensitivity import sensitivity

__all__ = [
    "OKABE_ITO",
    "class_probability",
    "decision_regions",
    "independence",
    "ledger",
    "map_against_bayes",
    "predictive_checks",
    "prior_posterior",
    "reliability",
    "reliability_table",
    "sensitivity",
    "uncertainty_scatter",
    "worth_of_rows",
]


def __dir__() -> list[str]:
    """The names that a notebook completes."""
    return __all__
