"""Read types and choices of parameters from signatures, and descriptions of parameters from docstrings."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

HEADING = "Parameters\n----------\n"


def kind_of(function: Callable, name: str) -> Any:
    """A parameter's type; ``None`` if the type uses names that exist only for type checkers."""
    inner = inspect.unwrap(function)
    stated = type("Stated", (), {"__annotations__": {name: inspect.signature(function).parameters[name].annotation}})
    try:
        return get_type_hints(stated, vars(sys.modules[inner.__module__]))[name]
    except NameError:
        return None


def members(kind: Any) -> tuple[Any, ...]:
    """The members of a union type, or the type itself."""
    kind = getattr(kind, "__value__", kind)
    return (
        tuple(chain.from_iterable(map(members, get_args(kind)))) if get_origin(kind) in (Union, UnionType) else (kind,)
    )


def require_known(
    owner: str, function: Callable, given: Iterable[str], cure: Callable[[str, list[str]], str] = lambda *_: ""
) -> None:
    """Raise ``TypeError`` if a name in ``given`` is no parameter of ``function``; ``cure`` returns the advice."""
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind == each.VAR_KEYWORD for each in parameters):
        return
    known = [each.name for each in parameters][1:]
    for name in given:
        if name not in known:
            said = cure(name, known) or f"its parameters are {known}"
            raise TypeError(f"{owner} has no parameter {name!r}; {said}")


def choices(function: Callable, name: str) -> tuple[Any, ...]:
    """The values that a parameter with a ``Literal`` type allows, including ``None`` if the type allows ``None``."""
    kinds = members(kind_of(function, name))
    if not any(get_origin(kind) is Literal for kind in kinds):
        return ()
    if any(get_origin(kind) is not Literal and kind is not NoneType for kind in kinds):
        return ()
    return tuple(chain.from_iterable((None,) if kind is NoneType else get_args(kind) for kind in kinds))


def without_markup(text: str) -> str:
    """Remove Sphinx markup from a docstring."""
    return re.sub(r":[\w:]+:`~?([^`]*)`", r"\1", text).replace("``", "")


def described(docstring: str) -> dict[str, str]:
    """The description of each parameter in a numpydoc docstring, as one paragraph."""
    _, _, section = inspect.cleandoc(docstring).partition(HEADING)
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line.startswith("---"):
            # The line before is the heading of the next section.
            for name in names:
                found.pop(name)
            break
        if line and not line.startswith(" "):
            names = [name.strip().lstrip("*") for name in line.partition(" :")[0].split(",")]
            found |= {name: [] for name in names}
        for name in names if line.startswith(" ") else ():
            found[name].append(line.strip())
    return {name: " ".join(lines) for name, lines in found.items()}
