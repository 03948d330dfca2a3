"""What naive Bayes leaves out: features that depend on each other given the class.

Start with ``learning``: its ``learn`` takes the posterior of naive Bayes, and the rows it was learned from, to a model
with more terms, each to a power; ``learned`` is this model, and answers. ``columns`` cuts columns into cells, and says
what is counted on the cells: it adds like the statistics of the model. ``pairs`` has the terms that follow from these
counts, of the shape of a column and of two columns; ``near`` and ``partitions`` have those of near rows and of random
partitions; ``terms`` puts all terms side by side, for new rows, and for learned rows with the row itself left out
exactly. ``exponents`` is what a user specifies of their powers, ``likelihood`` says how probable the labels are at
given powers, ``posterior`` finds and holds the posterior of the powers, and ``program`` writes them out in PyMC.
"""
