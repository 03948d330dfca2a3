"""Learn how features depend on each other given the class.

:func:`bayesnb.dependence.learning.learn` returns a :class:`bayesnb.dependence.learned.Dependence`: further
log-likelihood terms, and an exponent that multiplies each term.
"""
