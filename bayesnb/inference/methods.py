"""The methods of a fitted model: one for each question of the table that is a method, which registers them here."""


class FittedModel:
    """A fitted model that may be asked: what it has learned is its ``classifier_``.

    Every question is one function of this room; ``methods.pyi`` lists the methods for editors and type checkers.
    """
