"""Features that depend on each other given the class.

``learning.learn`` takes the posterior of naive Bayes and its rows. The result is a ``learned.Dependence``, which holds
further terms and an exponent for every term. The modules ``pairs``, ``near``, ``partitions``, ``label_trees``,
``joint`` and ``forests`` compute the terms. ``columns`` counts the rows. ``exponents`` specifies the exponents.
``likelihood`` and ``posterior`` learn exponents, and ``scores`` averages class probabilities over them.
"""
