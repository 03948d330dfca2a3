"""The second road to the posterior: the model in PyMC, its draws, and the check of the closed form by them.

``layout`` names the variables, ``pymc_model`` writes the model down, ``nuts`` samples it, ``gibbs`` draws the labels of
rows that have none, ``draws`` draws parameters exactly and reads them back from a tree, ``trees`` makes the ArviZ
``DataTree`` of all samplers, and ``agreement`` compares draws with the closed form. PyMC and
ArviZ are imported where they are needed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, ["agreement", "draws", "gibbs", "layout", "nuts", "pymc_model", "trees"]
)
