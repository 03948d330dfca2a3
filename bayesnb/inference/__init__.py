"""Analyses of a fitted model, such as predictions, intervals and checks."""

from importlib import import_module
from pkgutil import iter_modules

from bayesnb.inference.questions import put_in_order

for _module in iter_modules(__path__):
    if _module.name != "__main__":
        import_module(f"{__name__}.{_module.name}")
put_in_order()
