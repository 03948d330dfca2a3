"""``python -m bayesnb.cli.stated`` extracts options from signatures and docstrings to ``stated.json``."""

# Without ``stated.json``, every help text would have to import the functions, which takes a second.

from __future__ import annotations

import inspect
import json
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin

from bayesnb.cli import asking, cli, options
from bayesnb.signatures import choices, described, kind_of, members, without_markup

ESTIMATOR = "bayesnb.estimator:BayesianNB"
"""The class that documents the parameters of a model."""


def written() -> str:
    """The content of ``stated.json``."""
    questions = {
        name: {
            "summary": without_markup(each.summary),
            "options": [*each.options],
            "function": f"{each.function.__module__}:{each.function.__name__}",
        }
        for name, each in asking.asked().items()
    }
    named = [source for each in cli.commands.values() for source in getattr(each, "functions", ())]
    sources = [*options.STATED, options.PARAMETERS, *named, *(each["function"] for each in questions.values())]
    parameters = {source: _facts(pkgutil.resolve_name(source)) for source in sorted({*sources})}
    content = {"parameters": parameters, "questions": questions}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _facts(function: Callable) -> dict[str, Any]:
    metadata = {each.name: dict(each.metadata) for each in fields(function)} if is_dataclass(function) else {}
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        default = None if parameter.default is parameter.empty else parameter.default
        kinds = [kind for kind in members(kind_of(function, name)) if kind is not NoneType]
        kind = kinds[0] if len(kinds) == 1 else None
        several = get_origin(kind) in (tuple, Sequence)
        if isinstance(default, bool | int | float | str | tuple | NoneType):
            found[name] = {
                "choices": [word for word in choices(function, name) if word is not None],
                "type": _word(None if kind == tuple[Any, ...] else get_args(kind)[0] if several else kind),
                "several": several,
                "default": default,
                "metadata": metadata.get(name, {}),
                "text": _text(function, name),
            }
    return found


def _word(kind: Any) -> str | None:
    return "str" if kind is Any else kind.__name__ if kind in (bool, int, float, str) else None


def _text(function: Callable, name: str) -> str:
    text = described(function.__doc__ or "").get(name)
    return described(pkgutil.resolve_name(ESTIMATOR).__doc__ or "").get(name, "") if text is None else text


if __name__ == "__main__":
    options.FACTS.write_text(written(), encoding="utf-8")
