"""The methods of a fitted model. Questions that are declared as methods are registered here."""


class FittedModel:
    """Base class of a fitted model, which is stored as ``classifier_``, with its questions as methods.

    Every question is one function in this package; ``methods.pyi`` lists the methods for editors and type checkers.
    """
