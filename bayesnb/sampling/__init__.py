"""Sampling the posterior, which checks the closed form.

``layout`` names the variables, ``pymc_model`` builds the PyMC model, and ``nuts`` samples it. ``gibbs`` samples
unlabelled rows. ``draws`` draws exactly. ``trees`` makes ArviZ's ``DataTree``. ``agreement`` checks the closed form.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, ["agreement", "draws", "gibbs", "layout", "nuts", "pymc_model", "trees"]
)
