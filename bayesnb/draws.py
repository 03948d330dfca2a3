"""Draws from a fitted model: new rows, and class probabilities.

Each function takes a fitted model first: an estimator, or its ``classifier_``.
Written by python -m bayesnb.inference: one line for each question of the table.
"""

from bayesnb.inference.draws import sample_proba
from bayesnb.inference.sample import sample

__all__ = ["sample", "sample_proba"]
