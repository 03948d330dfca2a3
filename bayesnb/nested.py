"""Nested parameters, such as parameters of priors, for grid searches.

``features__age__prior__alpha`` is the field ``alpha`` of the prior of the family of the column ``age``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from functools import wraps
from typing import Any

from bayesnb.data.specifications import made

ELSEWHERE = {
    "alpha": "features=Categorical(Dirichlet(1.0)), or features={column: Categorical(Dirichlet(1.0))}",
    "laplace": "features=Categorical(Dirichlet(1.0)), or begin with presets.e1071(laplace=1)",
    "fL": "features=Categorical(Dirichlet(1.0)), or begin with presets.klar(fL=1)",
    "smoothing": "features=Categorical(Dirichlet(1.0)), or begin with presets.spark(smoothing=1.0)",
    **dict.fromkeys(["modelType", "model_type"], 'presets.spark(model_type="gaussian") instead'),
    **dict.fromkeys(
        ["usekernel", "kernel", "bandwidth"], 'features={column: "polya-tree"} or {column: "binned"}, for any density'
    ),
    "handle_unknown": 'unseen="missing" or unseen="new"',
    **dict.fromkeys(["seed", "random_seed"], "random_state="),
    "prior": "class_prior= for the classes, or features={column: family(prior)}",
    "force_alpha": "features=Categorical(Dirichlet(1.0)): its concentration is taken as it is",
    "fit_prior": 'class_prior="uniform" for False; class probabilities are learned otherwise',
    "priors": "class_prior={label: probability}",
    "class_weight": "class_prior={label: probability}, or sample_weight in fit",
    "var_smoothing": "features=Gaussian(NormalGamma(m, kappa, a, b)): a prior keeps variances positive. To have the "
    "numbers of scikit-learn, begin with presets.sklearn(var_smoothing=1e-9)",
    "min_categories": 'a categorical type, whose declared levels are levels, or unseen="new"',
    "binarize": "features=Bernoulli(), for a column that holds 0 and 1",
    "categorical_features": 'features={column: "categorical"}',
}
"""Parameters of other implementations of naive Bayes, and the equivalent in this package."""


def told_of_unknown_names[**P, R](init: Callable[P, R]) -> Callable[P, R]:
    """Wrap an initializer so that its error about an unknown keyword suggests a known parameter."""
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name in known:
                continue
            close = get_close_matches(name, known, 1, 0.75)
            meant = ELSEWHERE[name] if name in ELSEWHERE else f"{close[0]}=" if close else ""
            raise TypeError(
                f"BayesianNB has no parameter {name!r}; "
                + (f"write {meant}" if meant else f"its parameters are {known}")
            )
        return init(*args, **kwargs)

    return checked


def deep_params(name: str, value: Any) -> dict[str, Any]:
    """The nested parameters of a value, such as a family, by path."""
    found: dict[str, Any] = {}
    for key, inner in _parts(value).items():
        if isinstance(key, str):
            found[f"{name}__{key}"] = inner
            found |= deep_params(f"{name}__{key}", inner)
    return found


def with_param(name: str, value: Any, path: str, new: Any) -> Any:
    """Copy a value and replace the parameter at a nested ``path``, such as "age__prior__alpha".

    Raises
    ------
    ValueError
        If there is no parameter at ``path``.
    """
    value = made(value) if isinstance(value, str) else value
    parts = _parts(value)
    # The name of a column may contain two underscores, so the longest matching name is used.
    fits = [key for key in parts if path == str(key) or path.startswith(f"{key}__")]
    if not fits:
        asked = path.partition("__")[0]
        close = get_close_matches(asked, map(str, parts), 1)
        cure = f"did you mean {close[0]!r}?" if close else f"it has {list(parts)}" if parts else "it has none"
        if name == "features" and not close:
            cure += f"; give the column a family first, as features={{{asked!r}: ...}}"
        raise ValueError(f"{name} has no parameter {asked!r}: {cure}")
    key = max(fits, key=lambda fit: len(str(fit)))
    rest = path[len(str(key)) + 2 :]
    changed = with_param(f"{name}__{key}", parts[key], rest, new) if rest else new
    if isinstance(value, Mapping):
        held = value[key]
        return {**value, key: (changed, held[1]) if isinstance(held, tuple) and len(held) == 2 else changed}
    return replace(value, **{key: changed})


def _parts(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return {key: v[0] if isinstance(v, tuple) and len(v) == 2 else v for key, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    return {}
