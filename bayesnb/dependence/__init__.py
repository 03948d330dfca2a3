"""What naive Bayes leaves out: features that depend on each other given the class.

Start with ``learning``: its ``learn`` takes the posterior of naive Bayes and its rows, and returns a model with more
terms, each raised to a power. ``learned`` is this model, which predicts. ``columns`` cuts columns into cells and counts
rows in them; the counts add like the statistics of the model. ``pairs`` has the terms that are computed from these
counts, of the shape of a column and of two columns; ``near`` and ``partitions`` have the terms of similar rows and of
random partitions; ``label_trees``, ``joint`` and ``forests`` have those of classification trees, of a joint Gaussian
and of forests. ``terms`` collects all terms, for new rows and, with exact leave-one-out, for learned rows.
``exponents`` is the specification of the powers, ``likelihood`` the likelihood of the labels given the powers,
``posterior`` finds and holds the posterior of the powers, ``scores`` averages class probabilities over it, and
``program`` writes the powers as a PyMC model.
"""
