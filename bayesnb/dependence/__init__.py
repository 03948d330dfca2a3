"""Features that depend on each other given the class, which naive Bayes ignores.

Start with ``learning``: its ``learn`` takes the posterior of naive Bayes and its rows, and returns a model
(``learned``) with more terms, each raised to a power. The terms are in ``pairs``, ``near`` (similar rows),
``partitions``, ``label_trees``, ``joint`` (a joint Gaussian) and ``forests``, on cells that ``columns`` counts.
``exponents`` specifies the powers, ``likelihood`` and ``posterior`` learn them, and ``scores`` averages class
probabilities over them.
"""
