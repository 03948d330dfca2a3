"""The base class of fitted models; the decorator ``question`` adds methods to it."""


class FittedModel:
    """Base class of fitted models with a ``classifier_``; its methods are listed in ``methods.pyi``."""
