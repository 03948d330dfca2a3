"""Advice of the library, which is written in Python, in the language of the command line."""

from __future__ import annotations

import re
import shlex

_NAME = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_FIRST = re.compile(rf"column {_NAME} holds (\S+) in row (.*?), where (\w+) needs ([^;]*); use (.+?) for it")
_FEATURES = re.compile(rf"features=\{{{_NAME}: (?:(\w+)\(\)|\.\.\.)\}}")
_PARAMETER = re.compile(r"""\b(dependence|estimate)=["'](\w+)["']""")
_FAMILY = re.compile(r"(?<![\w.])([A-Z][A-Za-z]+)\(\)")


def in_options(text: str) -> str:
    """Say ``--dependence pairwise`` for ``dependence="pairwise"``, ``--feature x=gaussian`` for ``Gaussian()``."""
    text = _FIRST.sub(_family_for, text)
    text = _FEATURES.sub(lambda found: feature(_unquoted(found[1]), found[2] or "FAMILY"), text)
    text = _PARAMETER.sub(r"--\1 \2", text).replace("dependence=None", "no --dependence")
    return _FAMILY.sub(lambda found: _small(found[1]), text)


def feature(column: object, family: str) -> str:
    """The option that chooses the family of a column."""
    return f"--feature {shlex.quote(str(column))}={_small(family) if family != 'FAMILY' else family}"


def _family_for(found: re.Match[str]) -> str:
    name, value, row, family, needs, cures = found.groups()
    families = re.findall(r"(\w+)\(\)", cures)
    if value in ("0", "-0") and needs == "a positive number":
        families = [f"hurdle:{_small(family)}", *families]
    options = ", or ".join(feature(_unquoted(name), each) for each in families)
    return f"column {name} holds {value} in row {row}, where {_small(family)} needs {needs}; write {options}"


def _small(family: str) -> str:
    """The name of a family as it is written on the command line."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", family).lower()


def _unquoted(name: str) -> str:
    import ast

    return str(ast.literal_eval(name))
