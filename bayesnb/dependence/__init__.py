"""Features that depend on each other given the class, which naive Bayes ignores.

Start with ``learning``: its ``learn`` takes the posterior of naive Bayes and its rows, and returns a model
(``learned``) with more terms, each raised to a power. ``columns`` counts rows in cells of the columns. The terms are in
``pairs``, ``near`` (similar rows), ``partitions``, ``label_trees``, ``joint`` (a joint Gaussian) and ``forests``;
``terms`` collects them. ``exponents`` specifies the powers, ``likelihood`` and ``posterior`` learn them, ``scores``
averages class probabilities over them, and ``program`` writes them as a PyMC model.
"""
