"""Naive Bayes as a probabilistic program: conjugate, exact, and checked against PyMC.

:class:`BayesianNB` is the estimator; families and priors specify it.
"""

# __init__.pyi lists all public names. Their modules are imported when first used.

import lazy_loader

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Return a public object by its name, or raise an error that suggests an existing name."""
    try:
        return _public(name)
    except AttributeError:
        from importlib import import_module
        from importlib.util import find_spec

        if name.startswith("_"):
            raise
        if find_spec(f"{__name__}.{name}"):
            return import_module(f"{__name__}.{name}")
        from types import ModuleType

        from bayesnb.wording import THEIRS, meant

        if name in THEIRS:
            raise AttributeError(f"module 'bayesnb' has no {name!r}: use {THEIRS[name]}", name=name) from None

        modules = {each: found for each in __all__ if isinstance(found := _public(each), ModuleType)}
        held = [f"bayesnb.{each}.{name}" for each, module in modules.items() if name in module.__all__]
        hint = f": it is {held[0]}" if held else meant(name, __all__)
        raise AttributeError(f"module 'bayesnb' has no {name!r}{hint}", name=name) from None
