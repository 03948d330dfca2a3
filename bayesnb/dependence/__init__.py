"""Features that depend on each other given the class.

Start with ``learning.learn``, which takes the posterior of naive Bayes and the learned rows. The result, in
``learned``, is a model with more terms, each raised to a power. The terms are in ``pairs``, ``near`` (similar rows),
``partitions``, ``label_trees``, ``joint`` (a joint Gaussian) and ``forests``. ``columns`` counts the cells that they
use. ``exponents`` specifies the powers, ``likelihood`` and ``posterior`` learn them, and ``scores`` averages class
probabilities over them.
"""
