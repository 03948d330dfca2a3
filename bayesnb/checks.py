"""Is the model right: what a fitted model and its rows say about the assumptions.

Each function takes a fitted model first: an estimator, or its ``classifier_``.
Written by python -m bayesnb.inference: one line for each question of the table.
"""

from bayesnb.inference.column_gains import column_gains
from bayesnb.inference.fill_in import surprise
from bayesnb.inference.flip import flip
from bayesnb.inference.forests import forests
from bayesnb.inference.independence import independence
from bayesnb.inference.label_noise import suspicious_labels
from bayesnb.inference.predictive_checks import predictive_checks
from bayesnb.inference.sensitivity import sensitivity
from bayesnb.inference.watch import watch

__all__ = [
    "column_gains",
    "flip",
    "forests",
    "independence",
    "predictive_checks",
    "sensitivity",
    "surprise",
    "suspicious_labels",
    "watch",
]
