"""Sets of classes, and bounds of their probabilities under a set of priors.

Each function takes a fitted model first: an estimator, or its ``classifier_``.
Written by python -m bayesnb.inference: one line for each question of the table.
"""

from bayesnb.inference.conformal import conformal
from bayesnb.inference.credal import predict_credal
from bayesnb.inference.decide import credible_set

__all__ = ["conformal", "credible_set", "predict_credal"]
