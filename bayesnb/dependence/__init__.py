"""Features that depend on each other given the class.

Start with ``learning.learn``. It takes the posterior of naive Bayes and its rows, and returns a model (``learned``)
with more terms, each raised to a power. The terms are in ``pairs``, ``near`` (similar rows), ``partitions``,
``label_trees``, ``joint`` (a joint Gaussian) and ``forests``. ``columns`` counts the cells that they use. ``exponents``
specifies the powers, ``likelihood`` and ``posterior`` learn them, and ``scores`` averages class probabilities over
them.
"""
