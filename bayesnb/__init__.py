"""Naive Bayes as a probabilistic program: conjugate, exact, and checked against the sampler.

:class:`BayesianNB` is the estimator; the families and priors below are its vocabulary. What each name is
and where it lives stands in ``__init__.pyi``; nothing is imported before it is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
