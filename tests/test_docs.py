"""The documentation lists every public name with an example, and its links lead to existing files."""

import ast
import doctest
import importlib
import inspect
import itertools
import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import bayesnb
from bayesnb import BayesianNB, cli, datasets, errors, families, model, plots, priors
from bayesnb.inference.questions import MODULES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts and "notebooks" not in path.parts)
FILES = [
    *PAGES,
    *(
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "benchmarks/README.md",
            "benchmarks/benchmark-details.md",
            "notebooks/README.md",
        )
    ),
]
API = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
API += "".join(runpy.run_path(str(DOCS / f"{page}.py"))["page"]() for page in ("families", "questions"))

NAMES = [name for name in bayesnb.__all__ if not inspect.ismodule(getattr(bayesnb, name)) and not name.startswith("__")]
METHODS = [
    name
    for name, value in inspect.getmembers(BayesianNB)
    if not name.startswith("_")
    # What scikit-learn's users know is documented in the docstring of the estimator.
    and (value.__doc__ or not isinstance(value, property))
    and (value.fget if isinstance(value, property) else value).__module__.startswith("bayesnb.")
]
PUBLIC = {name: getattr(bayesnb, name) for name in NAMES}
PUBLIC |= {f"BayesianNB.{name}": getattr(BayesianNB, name) for name in METHODS}
PUBLIC |= {
    f"plots.{name}": value
    for name, value in inspect.getmembers(plots, inspect.isfunction)
    if value.__module__.startswith(plots.__name__) and not name.startswith("_")
}
PUBLIC |= {f"datasets.{name}": getattr(datasets, name) for name in datasets.__all__}
PUBLIC |= {f"model.{name}": getattr(model, name) for name in model.__all__}
PUBLIC |= {f"errors.{name}": getattr(errors, name) for name in errors.__all__}
PUBLIC |= {
    f"{module}.{name}": value
    for module in MODULES
    for name, value in vars(getattr(bayesnb, module)).items()
    if name[0] != "_"
}
PUBLIC |= {f"families.{name}": getattr(families, name) for name in families.__all__ if name not in NAMES}
PUBLIC |= {f"priors.{name}": getattr(priors, name) for name in ("BetaTree", "UNSEEN")}


def fences(text):
    """The fenced blocks of a page, as (language, content)."""
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def listed():
    """Every name on the API page."""
    blocks = re.findall(r"\.\. autosummary::\n(.*?)```", API, flags=re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip() and ":" not in line]


def test_headings_of_docstrings_are_underlined_on_a_line_of_their_own():
    for path in Path(bayesnb.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
                for title, line in itertools.pairwise(["", *text.splitlines()]):
                    assert "----" not in line or line.strip() == "-" * len(title.strip()), (path.name, line)


def test_every_public_name_is_listed_on_the_api_page():
    assert PUBLIC.keys() - set(listed()) == set()


def test_every_public_name_has_an_example_that_runs():
    # The examples themselves are run by --doctest-modules; a constant has no docstring of its own.
    finder = doctest.DocTestFinder(recurse=False)
    without = {
        name for name, value in PUBLIC.items()
        if not any(test.examples for test in finder.find(value, name, module=False))
    }  # fmt: skip
    assert without == {"priors.UNSEEN"}


def test_the_constant_unseen_is_used_in_an_example():
    runs = doctest.DocTestParser().get_examples((DOCS / "how-to" / "missing-and-unseen.md").read_text(encoding="utf-8"))
    assert any("UNSEEN" in example.source for example in runs)


def test_every_name_on_the_api_page_exists_and_has_a_docstring():
    for name in listed():
        value, parts = bayesnb, name.split(".")
        for k, part in enumerate(parts):
            if inspect.ismodule(value) and not hasattr(value, part):
                value = importlib.import_module(".".join(["bayesnb", *parts[: k + 1]]))
            else:
                value = getattr(value, part)
        assert inspect.getdoc(value), name


def test_no_absolute_value_in_a_docstring_reads_as_a_substitution():
    # Sphinx reads |x| as the name of a text to substitute.
    wrong = []
    for path in (ROOT / "bayesnb").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(r"(?<![^\s(])\|[^\s|]", text) else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                prose = (ast.get_docstring(node) or "").split("Examples\n---")[0]
                prose = re.sub(r"``.*?``|`[^`]*`", "", prose, flags=re.DOTALL)
                wrong += [(path.name, found[0]) for found in re.finditer(r"(?<![^\s(])\|[^\s|][^|\n]*[^\s|]\|", prose)]
    assert wrong == []


def test_each_entry_of_a_section_begins_on_a_line_of_its_own():
    # Otherwise it is read as a sentence of the description above, and its parameter is not documented.
    wrong = []
    for path in (ROOT / "bayesnb").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for section in re.findall(r"(?:Parameters|Attributes)\n +-+\n((?: +\S.*\n)+)", text):
            wrong += [(path.name, found) for found in re.findall(r"(?<=[.:;)]) (\w+(?:, \w+)* : \w.*)", section)]
    assert wrong == []


def test_each_line_of_a_see_also_names_objects_or_continues_the_text_above():
    # The parser of numpydoc fails otherwise, and Sphinx leaves the whole object out.
    wrong = []
    for path in (ROOT / "bayesnb").rglob("*.py"):
        for section in re.findall(r"See Also\n +-+\n((?: +\S.*\n)+)", path.read_text(encoding="utf-8")):
            indent = len(section) - len(section.lstrip())
            entries = [line.strip() for line in section.splitlines() if line[indent] != " "]
            wrong += [f"{path.name}: {entry}" for entry in entries if not re.match(r"[\w.]+(, [\w.]+)*( : |$)", entry)]
    assert wrong == []


def test_links_to_files_lead_to_existing_files():
    broken = []
    for path in FILES:
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:href|src)="([^"]+)"', text)
        targets = {link.partition("#")[0] for link in links if not re.match(r"[a-z]+:", link)}
        broken += [f"{path.relative_to(ROOT)}: {target}" for target in targets if not (path.parent / target).exists()]
    assert broken == []


def test_every_code_block_of_the_readme_is_run():
    languages = [language for language, _ in fences((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert set(languages) == {"console", "pycon"}


# A model without the column "id" says that it ignores it in the table that it is scored on.
@pytest.mark.filterwarnings("ignore:columns that were not fitted are ignored:UserWarning")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(ROOT / "README.md", id="README"),
        pytest.param(DOCS / "getting-started.md", id="getting started", marks=pytest.mark.slow),
    ],
)
def test_the_commands_shown_on_the_first_pages_run(path, tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(
        "id,age,town,class\n"
        + "".join(f"{k},{20 + 3 * k},{('Bern', 'Basel')[k % 2]},{'ab'[k // 5]}\n" for k in range(10))
    )
    monkeypatch.chdir(tmp_path)
    rows = pd.read_csv("table.csv")
    Path("rows").mkdir()
    rows.to_parquet("rows/first.parquet")
    rows.to_parquet("new.parquet")
    rows.to_csv("more.csv", index=False)
    rows.to_csv("test.csv", index=False)
    rows.drop(columns=["id", "class"]).to_csv("new.csv", index=False)
    text = path.read_text(encoding="utf-8")
    commands = re.findall(r"(?:uv run |^\$ )bayesnb ([^`\n]+)$", text, re.MULTILINE)
    commands += re.findall(r"`uv run bayesnb ([^`\n]+)`", text)
    assert commands
    # The first command of all is run by `.ci/run`, and by `test_cli` with all other embedded tables.
    for command in (command for command in commands if command != "compare penguins"):
        with pytest.raises(SystemExit) as ended:
            cli.main(shlex.split(command, comments=True))
        assert ended.value.code == 0, command


def test_the_first_screen_of_the_readme_has_both_commands_and_no_word_that_a_newcomer_must_look_up():
    text = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:25])
    assert "$ pip install uv && uv run bayesnb compare penguins\n" in text
    assert "$ pip install uv && uv run --group dev pytest\n" in text
    for word in ("posterior", "closed form", "generative", "conjugate", "plug-in", "MAP", "NUTS", "likelihood"):
        assert word not in text


@pytest.mark.parametrize(
    "pair",
    [
        "beta-bernoulli", "dirichlet-categorical", "dirichlet-multinomial", "normal-gamma", "normal-known-variance",
        "gamma-poisson",
    ],
)  # fmt: skip
def test_the_page_of_each_conjugate_pair_has_the_planned_sections_in_order(pair):
    text = (DOCS / "theory" / f"{pair}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    plan = ["Model", "Sufficient statistic", "Posterior", "Mean and mode", "Predictive", "Moment", "Evidence",
            "Leaving one row out"]  # fmt: skip
    found = [next((k for k, heading in enumerate(headings) if heading.startswith(item)), None) for item in plan]
    assert None not in found, plan[found.index(None)]
    assert found == sorted(found)
    assert text.count(">>>") >= 8


def test_every_line_of_the_textbook_table_leads_to_an_example():
    page = DOCS / "theory" / "textbook.md"
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    assert len(lines) >= 20
    for line in lines:
        target, _, anchor = re.search(r"\]\(([^)]*)\)", line)[1].partition("#")
        text = (page.parent / target if target else page).read_text(encoding="utf-8")
        sections = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
        slugs = {re.sub(r"[^a-z -]", "", heading.lower()).replace(" ", "-"): body for heading, body in sections}
        assert ">>>" in (slugs[anchor] if anchor else text), line


def test_the_recipe_for_conda_names_the_version_and_needs_what_the_package_needs():
    recipe = (ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{bayesnb.__version__}"' in recipe
    assert f"version: {bayesnb.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    other_names = {
        "duckdb": "python-duckdb",
        "matplotlib": "matplotlib-base",
        "lazy-loader": "lazy_loader",
        "pymc": "pymc-base",
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = dict(re.match(r"([\w-]+)(.*)", line).groups() for line in project["dependencies"])
    listed = recipe[recipe.index("  run:") : recipe.index("tests:")]
    found = dict(re.findall(r"^    - (\S+) (\S+)$", listed, flags=re.MULTILINE))
    assert found == {"python": project["requires-python"]} | {other_names.get(k, k): v for k, v in needed.items()}


@pytest.mark.parametrize("command", [(), ("fit",), ("explain",), ("ask",), ("ask", "loo")])
def test_the_page_of_the_commands_holds_what_they_print(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        cli.main([*command, "--help"])
    assert f"```text\n{capsys.readouterr().out.strip()}\n```" in runpy.run_path("docs/commands.py")["page"]()
