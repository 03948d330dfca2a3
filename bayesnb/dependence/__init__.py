"""Features that depend on each other given the class.

``learning.learn`` takes the posterior of naive Bayes and the labelled rows. The result is a ``learned.Dependence``:
further log-likelihood terms, and an exponent for each term, by which the term is multiplied. The modules ``pairs``,
``near``, ``partitions``, ``label_trees``, ``joint`` and ``forests`` compute the terms. ``columns`` counts rows per
interval or level. ``exponents`` holds the settings. ``likelihood`` and ``posterior`` learn exponents, and ``scores``
averages class probabilities over the posterior of the exponents.
"""
