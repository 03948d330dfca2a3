"""The page of the API that lists what may be asked of a fitted model, written from the table of questions."""

from bayesnb.inference.questions import MODULES, QUESTIONS, Question, by_group

PAGE = """# If you want … use …

Each line ends with the name to call: a method of the fitted estimator (or of its `classifier_`), or a function whose
first argument is the estimator or the classifier. For whole tasks, see [how to …](../how-to/index.md).

```{{eval-rst}}
.. currentmodule:: bayesnb

{wants}
```

## Methods

```{{eval-rst}}
.. autosummary::
   :nosignatures:

   {methods}
```
"""

MODULE = """
## `bayesnb.{module}`

{about}

```{{eval-rst}}
.. autosummary::
   :toctree: generated

   {names}
```
"""


def page() -> str:
    """The page, as Markdown."""
    wants = []
    for group, questions in by_group().items():
        wants += [f"**{group}**", "", *(f"* {each.want}: {reference(each)}" for each in questions), ""]
    methods = [f"BayesianNB.{each.name}" for each in QUESTIONS.values() if each.module is None]
    parts = [PAGE.format(wants="\n".join(wants).rstrip(), methods="\n   ".join(methods))]
    for module, about in MODULES.items():
        names = sorted(f"{module}.{each.name}" for each in QUESTIONS.values() if each.module == module)
        parts.append(MODULE.format(module=module, about=about, names="\n   ".join(names)))
    return "".join(parts)


def reference(question: Question) -> str:
    """The question as a reference that Sphinx resolves from this page."""
    return question.role if question.module else f":meth:`~BayesianNB.{question.name}`"
