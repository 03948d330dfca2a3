"""The base class of fitted models."""


class FittedModel:
    """Base class of fitted models with a ``classifier_``; ``methods.pyi`` lists the methods."""
