"""The log-odds of a fitted model: their moments, and their weights as a linear form.

Each function takes a fitted model first: an estimator, or its ``classifier_``.
Written by python -m bayesnb.inference: one line for each question of the table.
"""

from bayesnb.inference.log_odds import log_odds
from bayesnb.inference.parameters import linear_form

__all__ = ["linear_form", "log_odds"]
