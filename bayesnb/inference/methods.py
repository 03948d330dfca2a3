"""The base class of fitted models, to which the decorator ``question`` adds methods."""


class FittedModel:
    """Base class of fitted models with a ``classifier_``; its methods are listed in ``methods.pyi``."""
