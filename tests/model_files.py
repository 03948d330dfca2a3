"""Model files that lie: their content is changed, and their digest is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayesnb.modelfile import container

type Change = Callable[[dict[str, Any], dict[str, Any]], Any]


def content_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON and the arrays of a model file."""
    with path.open("rb") as file:
        said, arrays = container.unpacked(file)
    return said["content"], arrays


def changed(path: Path, change: Change) -> Path:
    """A file beside this one with another content, which ``change`` makes of its JSON and its arrays in place."""
    content, arrays = content_of(path)
    change(content, arrays)
    found = path.with_name("lie.bayesnb")
    found.write_bytes(container.packed(content, arrays)[0])
    return found


def array(name: str, value: Any) -> Change:
    """Another array under this name."""
    return lambda content, arrays: arrays.__setitem__(name, value)


def cell(name: str, value: float) -> Change:
    """Another number in the first cell of an array."""
    return lambda content, arrays: arrays[name].__setitem__((0,) * arrays[name].ndim, value)


def said(*path: str, as_: Any) -> Change:
    """Another value in the JSON."""

    def change(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        for key in path[:-1]:
            content = dict(content["map"])[key] if "map" in content else content[key]
        content[path[-1]] = as_

    return change
