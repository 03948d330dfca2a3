"""The page of the API that lists the families, written from the one list of them in ``bayesnb.families``."""

from bayesnb.families import families

PAGE = """# Families

A family is the kind of distribution that a column has within a class. All families have the methods of
{{class}}`~bayesnb.families.family.Family`.

```{{eval-rst}}
.. currentmodule:: bayesnb.families

.. autosummary::
   :toctree: generated

   {exact}
   Binned
```

Families without a closed form, sampled with NUTS:

```{{eval-rst}}
.. autosummary::
   :toctree: generated

   {sampled}
```
"""


def page() -> str:
    """The page, as Markdown."""
    listed = families().items()
    exact, sampled = ([name for name, family in listed if family.exact is closed] for closed in (True, False))
    return PAGE.format(exact="\n   ".join(exact), sampled="\n   ".join(sampled))
