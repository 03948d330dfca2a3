"""The formulas behind the methods of a fitted classifier: what a posterior says about rows.

``uncertainty`` says how sure a class probability is (with two classes by ``log_odds``), ``decisions`` what to do with
it, ``explain`` where it comes from, ``parameters`` what was learned, and ``scoring`` how good predictions were.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    ["checks", "credal", "decisions", "explain", "log_odds", "parameters", "scoring", "sensitivity", "uncertainty"],
)
