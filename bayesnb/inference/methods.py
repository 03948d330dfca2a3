"""The methods of a fitted model: one for each question of the table, which registers them here."""


class Questions:
    """A fitted model that may be asked: what it has learned is its ``classifier_``.

    Every question is one function of this room; ``methods.pyi`` lists them for editors and type checkers.
    """
