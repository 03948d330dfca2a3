"""What naive Bayes leaves out: features that depend on each other given the class.

Start with ``terms``, which takes the log predictive of a row apart, column by column, with the row itself left out.
``conditional`` asks how probable the labels are when each term counts to a power, and ``exponents`` is what is
believed of those powers.
"""
