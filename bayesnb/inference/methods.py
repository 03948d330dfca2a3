"""The base class of fitted models. Questions are registered as methods of this class."""


class FittedModel:
    """Base class of fitted models with a ``classifier_``; its methods are listed in ``methods.pyi``."""
