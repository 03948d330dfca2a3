"""The page of the API that lists the families, written from the one list of them in ``bayesnb.families``."""

import bayesnb
from bayesnb.families import families

PAGE = """# Families

A family is the kind of distribution that a column has within a class. All families have the methods of
{{class}}`~bayesnb.families.family.Family`.

```{{eval-rst}}
.. currentmodule:: bayesnb

.. autosummary::
   :toctree: generated

   {exact}
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
    exact, sampled = ([place(name) for name, family in listed if family.exact is closed] for closed in (True, False))
    return PAGE.format(exact="\n   ".join(exact), sampled="\n   ".join(sampled))


def place(name: str) -> str:
    """Where users find a family: the common ones in the package itself."""
    return name if name in dir(bayesnb) else f"families.{name}"
