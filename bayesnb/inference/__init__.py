"""Questions to a fitted model, one in each file: its formula, its errors and its result.

``classifier`` holds what was learned, and ``questions`` is the table of questions. Importing the room registers them.
"""

from importlib import import_module
from pkgutil import iter_modules

# The questions of ``predict`` are the first of the table.
for _name in sorted((_module.name for _module in iter_modules(__path__)), key=lambda name: (name != "predict", name)):
    if _name != "__main__":
        import_module(f"{__name__}.{_name}")
