"""The table of questions: whatever may be asked of a fitted model is one plain function, registered once.

A question is a function ``f(classifier, X, ...)`` in a file of this room, with :func:`question` above it. From its
signature and its docstring are made the method of :class:`bayesnb.BayesianNB` and of
:class:`bayesnb.inference.classifier.Classifier`, its type in ``methods.pyi``, its line in the docstring of the
estimator, and the options of a command. :data:`QUESTIONS` is the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType
from typing import Any, Concatenate, Literal, Protocol, cast

from bayesnb.inference.methods import Questions

type Group = Literal["predict", "how sure", "why", "what to do", "is the model right", "draws and PyMC"]


class Method[**P, R](Protocol):
    """What a type checker knows of a method that is made from a function: that it is called without the classifier."""

    def __get__(self, asked: Any, kind: Any = None) -> Callable[P, R]: ...


@dataclass(frozen=True)
class Question:
    """One line of the table.

    Parameters
    ----------
    name : str
        Of the function and of the method.
    want : str
        What somebody wants who asks it, as the end of a sentence that begins with "If you want".
    group : str
        The heading it stands under.
    function : callable
        Its first argument is a Classifier.
    """

    name: str
    want: str
    group: Group
    function: Callable[..., Any]

    @property
    def module(self) -> str:
        """The file of this room in which the function stands."""
        return self.function.__module__.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return " ".join(inspect.cleandoc(self.function.__doc__ or "").partition("\n\n")[0].split())

    @property
    def options(self) -> Mapping[str, inspect.Parameter]:
        """What the question takes beside the classifier, by name; annotations are text."""
        _, *others = inspect.signature(self.function).parameters.values()
        return {option.name: option for option in others}

    @property
    def help(self) -> Mapping[str, str]:
        """What the docstring says of each option, from its section "Parameters" (numpydoc)."""
        return described(self.function.__doc__ or "")


_TABLE: dict[str, Question] = {}

QUESTIONS: Mapping[str, Question] = MappingProxyType(_TABLE)
"""Every question by its name, in the order of its file. A further one is one function in one file."""


def question[F: Callable[..., Any]](want: str, group: Group) -> Callable[[F], F]:
    """Register a function ``f(classifier, ...)`` as a question, which makes it a method of every fitted model.

    Parameters
    ----------
    want : str
        The end of the sentence "If you want ...".
    group : str
        The heading it stands under.
    """

    def register(function: F) -> F:
        name = function.__name__
        _TABLE[name] = Question(name, want, group, function)
        setattr(Questions, name, asked(function))
        return function

    return register


def asked[**P, R](function: Callable[Concatenate[Any, P], R]) -> Method[P, R]:
    """A function of a classifier as a method, which asks the classifier that its object holds at that moment."""

    @wraps(function)
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(self.classifier_, *args, **kwargs)

    first, *others = inspect.signature(function).parameters.values()
    method.__signature__ = inspect.signature(function).replace(parameters=[first.replace(name="self"), *others])
    method.__qualname__ = f"{Questions.__name__}.{function.__name__}"
    return cast("Method[P, R]", method)


def described(docstring: str) -> dict[str, str]:
    """What the section "Parameters" of a numpydoc docstring says of each parameter, in one paragraph each."""
    _, _, section = inspect.cleandoc(docstring).partition("Parameters\n----------\n")
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


def listing_questions[C: type](kind: C) -> C:
    """A class whose docstring has the table in place of "{questions}"; without docstrings (``-OO``) it is as it was."""
    if kind.__doc__:
        kind.__doc__ = inspect.cleandoc(kind.__doc__).replace("{questions}", if_you_want())
    return kind


def if_you_want() -> str:
    """The table as reStructuredText, "if you want ... call ...", for the docstring of the estimator."""
    lines = []
    for group in dict.fromkeys(each.group for each in QUESTIONS.values()):
        lines += [f"*{group[0].upper()}{group[1:]}*", ""]
        own = [each for each in QUESTIONS.values() if each.group == group]
        lines += [*(f"* {each.want}: :meth:`{each.name}`" for each in own), ""]
    return "\n".join(lines).rstrip()


def stub() -> str:
    """The text of ``methods.pyi``, from which editors and type checkers know the methods."""
    modules = sorted({each.module for each in QUESTIONS.values()})
    lines = [
        "# Written by python -m bayesnb.inference: one line for each question of the table.",
        *(f"from bayesnb.inference import {module} as _{module}" for module in modules),
        "from bayesnb.inference.questions import asked",
        "",
        "class Questions:",
    ]
    lines += [f"    {name} = asked(_{QUESTIONS[name].module}.{name})" for name in sorted(QUESTIONS)]
    return "\n".join(lines) + "\n"
