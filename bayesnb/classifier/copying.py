"""What copies and pickles of a classifier hold, while other threads ask it.

The functions with a ``self`` are of :class:`bayesnb.classifier.Classifier`.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier


def state(self: Classifier) -> dict[str, Any]:
    """The fields of a classifier, none of whose parts another thread fills in while they are copied.

    What a part works out when it is first asked becomes a further attribute of it, so its dictionary may grow while
    ``copy`` or ``pickle`` goes through it. Here each dictionary is taken at once.
    """
    return _still(vars(self).copy(), {})


def _still(value: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    """The same value, of data classes that nobody else holds; ``made`` are those made so far, by the id of the first.

    What stands in two places stands in both again. The first is kept beside its copy, so that no other gets its id.
    """
    if id(value) in made:
        return made[id(value)][1]
    if type(value) is dict:
        return {key: _still(each, made) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_still(each, made) for each in value])
    if not is_dataclass(value) or isinstance(value, type) or not hasattr(value, "__dict__"):
        return value
    copy = object.__new__(type(value))
    made[id(value)] = value, copy
    copy.__dict__.update(_still(vars(value).copy(), made))
    return copy
