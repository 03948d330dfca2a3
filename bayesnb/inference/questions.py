"""The registry of *questions*: analyses of a fitted model by functions ``f(classifier, X, ...)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from textwrap import fill
from types import MappingProxyType
from typing import Any, Concatenate, Literal, Protocol, cast, get_args

from bayesnb.inference.methods import FittedModel
from bayesnb.model import NoClosedFormError
from bayesnb.signatures import HEADING, choices, described, require_known
from bayesnb.wording import Message, require_choice

type Group = Literal["predict", "how sure", "why", "what to do", "is the model right", "draws and PyMC"]

type Module = Literal["checks", "deploy", "design", "draws", "odds", "sets"]

MODULES: Mapping[Module, str] = {
    "checks": "Checks of a fitted model's assumptions on given rows.",
    "deploy": "A fitted model in production: large tables, single rows, and new class frequencies.",
    "design": "Decisions: which columns to ask for, which rows to label, worth of more rows, regret of plug-ins.",
    "draws": "Draws from a fitted model: new rows, and class probabilities.",
    "odds": "The log-odds of a fitted model: moments, and coefficients if the log-odds are linear in the columns.",
    "sets": "Sets of classes, and bounds of their probabilities under a set of priors.",
}
"""The public modules with questions for specialists, and their summaries."""


MODEL = "model : BayesianNB or Classifier\n    The fitted model.\n"
"""Description of the first argument of a function of a public module."""


class Asked[**P, R](Protocol):
    """The type, for type checkers, of a function that can be called as ``f(model, ...)`` or ``model.f(...)``."""

    def __call__(self, model: FittedModel, /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def __get__(self, model: Any, kind: Any = None) -> Callable[P, R]: ...


def _sentence(found: Any) -> str | Message:
    if hasattr(found, "attrs"):
        return found.attrs.get("says", "")
    return getattr(found, "finding", "" if isinstance(found, Mapping) else str(found))


@dataclass(frozen=True)
class Shown:
    """How the result of a question (an analysis of a fitted model) is displayed in the report and on a screen."""

    # ``lines`` returns the answer's table, ``says`` a sentence, and ``notes`` the text below the table. ``plot`` is the
    # function of bayesnb.plots that draws the answer. ``asks`` holds the question's arguments in the report. ``top`` is
    # the number of lines to show. ``advised`` is true if the report uses the model with the recommended dependence.
    # ``finding`` is true if the report lists the sentence among its findings.

    title: str
    lines: Callable[[Any], Any] = lambda found: found
    says: Callable[[Any], str | Message] = _sentence
    notes: Callable[[Any], str] = lambda _: ""
    plot: str | None = None
    asks: Mapping[str, Any] = field(default_factory=dict)
    top: int = 10
    advised: bool = False
    finding: bool = True


@dataclass(frozen=True)
class Question:
    """A registered analysis of a fitted model: its function, public module, heading and display."""

    # ``want`` completes "If you want …" and is listed under the heading ``group``. ``module`` is the public module of a
    # function, None for a method. ``columns`` explains each column of the answer, for a legend.

    name: str
    want: str
    group: Group
    module: Module | None
    function: Callable[..., Any]
    shown: Shown | None = None
    columns: Mapping[str, str | Message] = field(default_factory=dict)

    @property
    def file(self) -> str:
        return self.function.__module__.rpartition(".")[2]

    @property
    def role(self) -> str:
        return f":meth:`{self.name}`" if self.module is None else f":func:`bayesnb.{self.module}.{self.name}`"

    @property
    def summary(self) -> str:
        return " ".join(inspect.cleandoc(self.function.__doc__ or "").partition("\n\n")[0].split())

    @property
    def options(self) -> Mapping[str, inspect.Parameter]:
        _, *others = inspect.signature(self.function).parameters.values()
        return {option.name: option for option in others}

    @property
    def help(self) -> Mapping[str, str]:
        said = described(self.function.__doc__ or "")
        return {name: text for name, text in said.items() if name != "model"}


_TABLE: dict[str, Question] = {}

QUESTIONS: Mapping[str, Question] = MappingProxyType(_TABLE)
"""All questions by name, in the order of headings and files."""


def put_in_order() -> None:
    """Sort the questions by heading, then by module (methods first), then by file."""
    headings = get_args(Group.__value__)
    for each in sorted(_TABLE.values(), key=lambda each: (headings.index(each.group), each.module or "", each.file)):
        _TABLE[each.name] = _TABLE.pop(each.name)


THEIRS = {
    "prob": {"alpha", "level", "confidence", "ci_prob", "hdi_prob", "credible_mass", "mass"},
    "random_state": {"seed", "random_seed", "rng"},
    "sample_weight": {"weight", "weights"},
    "draws": {"n_samples", "n_draws", "samples", "size"},
}
"""Parameters of questions, and their names in other libraries."""


def _ours(name: str, known: list[str]) -> str:
    return next((f"write {own}=" for own in known if name in THEIRS.get(own, ())), "")


def question[**P, R](
    want: str,
    group: Group,
    module: Module | None = None,
    shown: Shown | None = None,
    columns: Mapping[str, str | Message] | None = None,
) -> Callable[[Callable[Concatenate[Any, P], R]], Asked[P, R]]:
    """Register a function ``f(classifier, ...)`` as a question; the arguments are fields of :class:`Question`."""
    # A question becomes a method of estimators and classifiers, or a function of a public module such as bayesnb.sets.

    def register(function: Callable[Concatenate[Any, P], R]) -> Asked[P, R]:
        signature = inspect.signature(function)

        @cache
        def known() -> dict[str, tuple[Any, ...]]:
            return {name: values for name in signature.parameters if (values := choices(function, name))}

        @wraps(function)
        def ask(model: FittedModel, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if kwargs.keys() - signature.parameters.keys():
                require_known(function.__name__, function, kwargs, _ours)
            try:
                given = signature.bind(model, *args, **kwargs).arguments if known() else {}
            except TypeError:  # The call below raises it again, with the name of the function.
                given = {}
            for name in known().keys() & given.keys():
                require_choice(name, given[name], known()[name])
            classifier = model.classifier_
            try:
                return function(classifier, *args, **kwargs)
            except NoClosedFormError as error:
                raise error.about(function.__name__) from None

        first, *others = signature.parameters.values()
        told = first.replace(name="self" if module is None else "model")
        ask.__signature__ = inspect.signature(function).replace(parameters=[told, *others])
        _TABLE[function.__name__] = Question(function.__name__, want, group, module, ask, shown, columns or {})
        if module is None:
            setattr(FittedModel, function.__name__, ask)
        elif ask.__doc__:
            ask.__doc__ = inspect.cleandoc(ask.__doc__).replace(HEADING, HEADING + MODEL, 1)
        return cast("Asked[P, R]", ask)

    return register


def listing_questions[C: type](kind: C) -> C:
    """Replace "{questions}" in the docstring of a class by the table of questions."""
    if kind.__doc__:
        kind.__doc__ = inspect.cleandoc(kind.__doc__).replace("{questions}", if_you_want())
    return kind


def by_group() -> dict[str, list[Question]]:
    """The questions by heading."""
    groups: dict[str, list[Question]] = {}
    for each in QUESTIONS.values():
        groups.setdefault(f"{each.group[0].upper()}{each.group[1:]}", []).append(each)
    return groups


def if_you_want() -> str:
    """A list, as reStructuredText, of the purposes that users may have and the function to call for each purpose."""
    lines = []
    for group, questions in by_group().items():
        lines += [f"*{group}*", "", *(f"* {each.want}: {each.role}" for each in questions), ""]
    return "\n".join(lines).rstrip()


def written() -> dict[str, str]:
    """The contents of the generated files, by their paths in the package."""
    made = (
        "# Written by ``python -m bayesnb.inference`` from the table in ``inference.questions``; do not edit this file."
    )
    methods = [each for _, each in sorted(QUESTIONS.items()) if each.module is None]
    files = {
        "inference/methods.pyi": [
            made,
            *(f"from bayesnb.inference import {file} as _{file}" for file in sorted({each.file for each in methods})),
            "from bayesnb.inference.classifier import Classifier",
            "",
            "class FittedModel:",
            "    @property",
            "    def classifier_(self) -> Classifier: ...",
            *(f"    {each.name} = _{each.file}.{each.name}" for each in methods),
        ]
    }
    indents = {"initial_indent": "    ", "subsequent_indent": "    "}
    for module, about in MODULES.items():
        held: dict[str, list[str]] = {}
        for each in QUESTIONS.values():
            if each.module == module:
                held.setdefault(each.file, []).append(each.name)
        names = ", ".join(f'"{name}"' for name in sorted(name for names in held.values() for name in names))
        files[f"{module}.py"] = [
            f'"""{about}',
            "",
            "The first argument of each function is a fitted model: an estimator, or its ``classifier_``.",
            '"""',
            "",
            made,
            "",
            *(f"from bayesnb.inference.{file} import {', '.join(sorted(held[file]))}" for file in sorted(held)),
            "",
            f"__all__ = [{names}]"
            if len(names) < 108
            else f"__all__ = [\n{fill(names, 120, **indents)},\n]  # fmt: skip",
        ]
    return {path: "\n".join(lines) + "\n" for path, lines in files.items()}
