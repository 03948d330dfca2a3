"""The methods of a fitted model, where questions that are declared as methods are registered."""


class FittedModel:
    """Base class of fitted models with a ``classifier_``; its methods are listed in ``methods.pyi``."""
