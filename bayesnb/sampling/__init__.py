"""Sample the posterior, to check the closed form.

``layout`` names the variables. ``pymc_model`` builds the PyMC model. ``nuts``, ``gibbs`` (for unlabelled rows) and
``draws`` (exact) sample the posterior. ``trees`` converts draws to ArviZ's ``DataTree``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, ["agreement", "draws", "gibbs", "layout", "nuts", "pymc_model", "trees"]
)
