"""A fitted model in use: tables of any size, one row at a time, and other class frequencies.

Each function takes a fitted model first: an estimator, or its ``classifier_``.
Written by python -m bayesnb.inference: one line for each question of the table.
"""

from bayesnb.inference.class_prior import estimate_class_prior, with_class_prior
from bayesnb.inference.compiled import compile
from bayesnb.inference.fill_in import fill_in
from bayesnb.inference.predict_table import predict_table, write_predictions
from bayesnb.inference.sql import to_sql

__all__ = [
    "compile",
    "estimate_class_prior",
    "fill_in",
    "predict_table",
    "to_sql",
    "with_class_prior",
    "write_predictions",
]
