"""The page of pictures: each function of ``bayesnb.plots`` with the example of its docstring, run at the build."""

import doctest
import inspect
import shutil
from pathlib import Path

from matplotlib.figure import Figure

from bayesnb import plots

PAGE = """# Pictures, with their code

The functions of `bayesnb.plots` take the results of questions and return matplotlib figures. Write a figure with
`figure.savefig("picture.png")`. Figures are not registered with `pyplot`, so `plt.savefig` writes an empty picture.
Every picture below is drawn by the code under it.
"""

PICTURE = """
## {title}

```{{image}} pictures/{name}.png
:width: {width}
:alt: "{title}"
```

```python
from bayesnb.plots import {name}
{code}
```

{{func}}`~bayesnb.plots.{name}`
"""


def page() -> str:
    """The page, as Markdown; its pictures are written beside it."""
    folder = Path(__file__).parent / "pictures"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    parts = [PAGE]
    for name in plots.__all__:
        function = getattr(plots, name)
        text = inspect.getdoc(function) or ""
        if not inspect.isfunction(function) or inspect.signature(function).return_annotation != "Figure":
            continue
        examples = doctest.DocTestParser().get_examples(text)
        drawn = max(k for k, example in enumerate(examples) if example.source.startswith("figure ="))
        code, names = "".join(example.source for example in examples[: drawn + 1]), vars(plots).copy()
        exec(code, names)
        figure: Figure = names["figure"]
        figure.savefig(folder / f"{name}.png", dpi=110)
        title = text.partition("\n")[0].rstrip(".")
        width = round(96 * figure.get_size_inches()[0])
        parts.append(PICTURE.format(name=name, title=title, code=code.rstrip(), width=width))
    return "".join(parts)
