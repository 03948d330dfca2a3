"""Naive Bayes as a probabilistic program: conjugate, exact, and checked against the sampler.

:class:`BayesianNB` is the estimator; families and priors specify it. ``__init__.pyi`` lists all public names and where
they are defined. Nothing is imported before it is used.
"""

from typing import Any

import lazy_loader

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

FORMER = ("Known",)


def __getattr__(name: str) -> Any:
    """A public name when it is first used; a former one says what it is called now."""
    if name in FORMER:
        from bayesnb import priors

        return getattr(priors, name)
    return _public(name)
