"""What can be asked of a posterior about rows: the formulas behind the methods of a fitted classifier.

``uncertainty`` says how sure a class probability is, ``decisions`` what to do with it, ``explain`` where it comes from,
and ``scoring`` how good it was. All of them are functions of arrays.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["decisions", "explain", "scoring", "uncertainty"])
