"""The base class of fitted models; its methods are the registered questions."""


class FittedModel:
    """Base class of fitted models with a ``classifier_``; its methods are listed in ``methods.pyi``."""
