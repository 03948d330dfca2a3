"""The methods of a fitted model, where questions that are declared as methods are registered."""


class FittedModel:
    """Base class of fitted models, which hold a ``classifier_``; its methods are the questions listed in
    ``methods.pyi``.
    """
