"""What to ask or label next, what further rows are worth, and what a plug-in costs.

Each function takes a fitted model first: an estimator, or its ``classifier_``.
Written by python -m bayesnb.inference: one line for each question of the table.
"""

from bayesnb.inference.ask import ask_next, label_next
from bayesnb.inference.further_rows import worth_of_rows
from bayesnb.inference.price import plug_in_price

__all__ = ["ask_next", "label_next", "plug_in_price", "worth_of_rows"]
