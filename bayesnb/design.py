"""What to ask or label next.

Each function takes a fitted model first: an estimator, or its ``classifier_``.
Written by python -m bayesnb.inference: one line for each question of the table.
"""

from bayesnb.inference.ask import ask_next, label_next

__all__ = ["ask_next", "label_next"]
