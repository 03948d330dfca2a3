"""Sampling the posterior, which checks the closed form.

``layout`` names the variables, ``pymc_model`` builds the PyMC model, and ``nuts``, ``gibbs`` (for unlabelled rows) and
``draws`` (exactly) sample it. ``trees`` makes ArviZ's ``DataTree``. ``agreement`` checks the closed form.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, ["agreement", "draws", "gibbs", "layout", "nuts", "pymc_model", "trees"]
)
