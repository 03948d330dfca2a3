"""Naive Bayes as a probabilistic program: conjugate, exact, and checked against the sampler.

:class:`BayesianNB` is the estimator; families and priors specify it. ``__init__.pyi`` lists all public names and where
they are defined. Nothing is imported before it is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
