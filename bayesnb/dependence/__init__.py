"""What naive Bayes leaves out: features that depend on each other given the class.

Start with ``learned``: its ``learn`` takes what naive Bayes believes, and the rows it was learned from, to a model with
more terms, each to a power. What may be a term stands on a page of its own: ``terms`` (the columns themselves),
``polya`` (their shapes), ``pairs`` (two columns) and ``joint`` (all Gaussian columns); each answers for new rows, and
for learned rows with the row itself left out exactly; ``termset`` puts them side by side. ``cells`` and ``grid`` cut
columns, and ``counting`` says what is counted on the cells: it adds like the statistics of the model. ``conditional``
asks how probable the labels are when each term counts to a power, ``laplace`` finds the posterior of those powers,
``exponents`` is what a user specifies of them, ``learned_exponents`` what is believed of them, and ``program`` writes
them out in PyMC. ``audit`` says which columns depend on each other.
"""
