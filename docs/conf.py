"""How the documentation is built: ``uv run --group docs sphinx-build -W docs docs/_build/html``.

Offline, and what is built asks for nothing outside its folder. Notebooks keep their outputs and are not run here; the
examples of the pages and docstrings are run by pytest.
"""

import runpy
import shutil
from importlib import metadata
from pathlib import Path

project = "bayesnb"
author = copyright = "The bayesnb developers"
release = metadata.version("bayesnb")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]

nb_execution_mode = "off"
nb_merge_streams = True
nb_output_stderr = "remove"
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

# What is ours has to be found; other libraries' names are not looked up, so that the build needs no network.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!bayesnb).*"),
    # The priors of sampled families, and of families that are made of others, which nobody names.
    ("py:class", r"bayesnb\.families\.(from_pymc|hierarchical|sampled)\..*"),
    ("py:class", r"bayesnb\.priors\.compound\.\w+"),
    # The statistics of the pairs: users see them as what the statistics hold, and the how-to page describes them.
    (
        "py:class",
        r"bayesnb\.(statistics\.(moments|scatter)|families\.(columns|compound|dyadic|multinomial|rates|trees|trials|words))\.\w+",
    ),
]

templates_path = ["_templates"]
html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = "bayesnb"
html_show_sourcelink = False
html_copy_source = False
html_extra_path = ["explore.html"]
html_sidebars = {
    page: []
    for page in ("benchmarks", "changelog", "comparison", "datasets", "faq", "gallery", "glossary", "stability")
}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}

# One file of MathJax, with its glyphs in it: formulas show without a network.
(mathjax,) = (path for path in metadata.files("sphinx-mathjax-offline") if path.match("mathjax/tex-svg.js"))
html_static_path = ["_static", str(mathjax.locate())]
mathjax_path = mathjax.name
mathjax3_config = {"svg": {"scale": 0.9}}

# The notebooks stand beside this folder and are copied in: links between them do not resolve through a symbolic link.
here = Path(__file__).parent
shutil.rmtree(here / "notebooks", ignore_errors=True)
shutil.copytree(
    here.parent / "notebooks", here / "notebooks", ignore=shutil.ignore_patterns("README.md", ".*", "*.mplstyle")
)

# Pages of families, questions, commands and pictures are written from their lists: a new one stands there by itself.
for listed in ("api/families", "api/commands", "api/questions", "gallery"):
    source = here / f"{Path(listed).name}.py"
    (here / f"{listed}.md").write_text(runpy.run_path(str(source))["page"](), encoding="utf-8")


def without_last_empty_line(app: object, doctree: object) -> None:
    """A doctest ends with an empty line, which a page need not show."""
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        if (text := block.astext().rstrip()) and len(block.children) == 1:
            block.rawsource, block.children = text, []
            block += nodes.Text(text)


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("doctree-read", without_last_empty_line)
