"""Features that depend on each other given the class.

Start with ``learning.learn``, which takes the posterior of naive Bayes and the learned rows. The result, a
``learned.Dependence``, adds terms to naive Bayes and raises every term to a power. The modules ``pairs``, ``near``
(similar rows), ``partitions``, ``label_trees``, ``joint`` (a joint Gaussian) and ``forests`` compute the terms.
``columns`` counts rows in the cells that the terms use. ``exponents`` specifies the powers, ``likelihood`` and
``posterior`` learn them, and ``scores`` averages class probabilities over them.
"""
