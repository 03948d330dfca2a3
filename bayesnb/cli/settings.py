"""The options that specify a model, for all commands that fit a model."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

if TYPE_CHECKING:
    from bayesnb.data.csv_reader import Format
    from bayesnb.data.encoders import Feature
    from bayesnb.data.schema import Schema
    from bayesnb.dependence.exponents import Exponents
    from bayesnb.findings import Remark


@dataclass(frozen=True)
class Settings:
    """The options of a model, as given on the command line.

    Parameters
    ----------
    drop : tuple of str
        Column to leave out.
    feature : tuple of str
        Family of a column, from the list below; by default, it depends on the column's type.
    m : float, optional
        Smooth categorical columns with a prior that is worth M rows (m-estimate).
    class_prior : str, optional
        laplace (the default), frequencies, uniform, or known probabilities, as LABEL=P,LABEL=P…
    weight : str, optional
        Column that holds the frequency weight of a row.
    dependence : {"auto", "auto-counts", "none", "tempered", "weighted", "pairwise", "forests"}
        Model of the dependence between columns given the class. "none" is naive Bayes as in the textbooks. "tempered"
        raises the likelihoods of all columns to one power (exponent), "weighted" has an exponent per column, and
        "pairwise" also exponents of pairs. "auto" averages several models with weights from held-out rows: "none",
        "weighted", "pairwise" (with terms for similar rows and random partitions), class frequencies, trees, and a
        linear model. "auto-counts" leaves out the comparison with similar rows, so the model file holds counts but no
        rows. "forests" averages over all forests (graphs without cycles) of links between columns. The default
        dependence is "auto"; with ``--columns grow``, ``--unknown`` or an ``--estimate`` other than "predictive", it is
        "none".
    unknown : str, optional
        Name of an additional class for rows of none of the learned classes, optionally with its probability (LABEL=P).
        A model with an unknown class cannot have a ``dependence``.

    Notes
    -----
    ``unseen``, ``absent`` and ``columns`` are documented in :class:`bayesnb.BayesianNB`.
    """

    drop: tuple[str, ...] = field(default=(), metadata={"metavar": "COL", "group": "Reading"})
    feature: tuple[str, ...] = field(default=(), metadata={"metavar": "COL=FAMILY"})
    m: float | None = None
    class_prior: str | None = field(default=None, metadata={"metavar": "PRIOR"})
    weight: str | None = field(default=None, metadata={"metavar": "COL", "group": "Reading"})
    unseen: Literal["missing", "new", "error"] = "missing"
    absent: Literal["error", "missing"] = "error"
    columns: Literal["fixed", "grow"] = "fixed"
    dependence: Literal["auto", "auto-counts", "none", "tempered", "weighted", "pairwise", "forests"] | None = None
    unknown: str | None = field(default=None, metadata={"metavar": "LABEL[=P]"})

    @property
    def of_all(self) -> str | None:
        return self.feature[0] if self.feature in (("best",), ("missing",)) else None

    def without_dependence(self, estimate: str = "predictive") -> str | None:
        """The reason why the default dependence is "none"; ``None`` if the default is "auto"."""
        if self.columns == "grow":
            return (
                "no dependence was added, so that new columns can join (--columns grow). With --dependence auto, the "
                "model can learn rows that lack a column, but no new columns"
            )
        if self.unknown is not None:
            return "no dependence was added, because exponents are learned from labels, and --unknown has none"
        if estimate != "predictive":
            return f"no dependence was added to the plug-in --estimate {estimate}; --dependence auto adds one"
        return None

    def features(self) -> dict[str, Any]:
        return {} if self.of_all else _features(self.feature, self.m)

    def follow(self, remark: Remark) -> bool:
        from bayesnb.data.readings import Joined
        from bayesnb.data.specifications import Missing
        from bayesnb.families.trials import Categorical
        from bayesnb.findings import days_of

        advised = remark.families
        if self.of_all is not None:
            # A serious finding remains: no family chosen by rows mends an identifier or levels in several spellings.
            return bool(advised) and not remark.serious and (self.of_all == "missing") == ("missing" in advised)
        joint = {column: spec for spec in self.features().values() if isinstance(spec, tuple) for column in spec[1]}
        stated = joint | self.features()
        if str(remark.column) in map(days_of, stated):  # A stated reading of dates decides about their days, too.
            return True
        if str(remark.column) == self.weight:  # Weights have no family.
            return True
        if not (advised or remark.asks) or (spec := stated.get(str(remark.column))) is None:
            return False
        if "missing" in advised:
            return isinstance(spec, Missing)
        joined = spec.family if isinstance(spec, Missing) else spec
        if isinstance(joined, Joined) and advised[:1] and advised[0].startswith("joined:"):
            return not joined.lacks(Joined.parsed(advised[0].partition(":")[2]))
        if remark.option:
            # A marker among numbers remains, unless the user has decided that all cells are levels.
            return remark.asks and isinstance(spec, Categorical)
        return not isinstance(spec, Missing) or spec.family is not None

    def fitting(self, remark: Remark) -> Remark:
        """Adapt the advice about a column to the ``--feature`` option that the user gave for it."""
        from bayesnb.data.specifications import Missing

        spec = self.features().get(str(remark.column))
        if isinstance(spec, Missing):
            remark = remark.within("Missing")
        if spec is None:
            return replace(remark, decimal=remark.decimal * (self.of_all is None))
        return replace(remark, drop=False, decimal="")

    def exponents(self) -> Exponents:
        """The settings with which a dependence is learned."""
        from bayesnb.dependence.exponents import named

        return named(self.dependence or "auto")

    def parameters(self) -> dict[str, Any]:
        """The estimator's parameters, except ``dependence`` and the priors from ``--m``, with class labels as text."""
        found = {"features": self.of_all or self.features() or None, "class_prior": _class_prior(self.class_prior)}
        return found | {name: getattr(self, name) for name in ("unseen", "absent", "columns", "unknown")}

    def advised(self, remarks: Iterable[Remark]) -> Settings:
        from bayesnb.findings import advised

        remarks = [replace(each, column=str(each.column)) for each in remarks if str(each.column) != self.weight]
        drop = dict.fromkeys([*self.drop, *(remark.column for remark in remarks if remark.drop)])
        given = {} if self.of_all else {text.rpartition("=")[0]: text.rpartition("=")[2] for text in self.feature}
        joint = {column for spec in self.features().values() if isinstance(spec, tuple) for column in spec[1]}
        words = advised(remarks, {*drop, *joint}, given)
        feature = self.feature if self.of_all else tuple(f"{column}={said}" for column, said in words.items())
        return replace(self, drop=tuple(drop), feature=feature)

    def smoothed(self, schema: Schema) -> tuple[Schema, dict[Any, Any] | None]:
        """The schema, and the family of each column with the smoothing prior that ``--m`` specifies."""
        from bayesnb.data.specifications import BestFamily, Missing, values_of
        from bayesnb.families.gaussian import Gaussian

        if self.m is None:
            return schema, self.parameters()["features"]
        if self.of_all == "missing" and self.columns == "grow":
            _refuse("--m cannot smooth columns that join later: instead of missing, name the columns, as COL=missing")
        before = schema.features
        smooth = {name: _smoothed(feature, self.m) for name, feature in before.items()}
        flags = {f.indicates: f.family.prior for f in smooth.values() if f.indicates}
        values = {name: f for name, f in smooth.items() if not (f.cuts or f.indicates)}
        changed = {name: f.family for name, f in values.items() if f is not before[name]}
        chosen: dict[Any, Any] = self.features()
        if self.of_all == "best":
            chosen = {name: BestFamily() for name, f in before.items() if f.tried or type(f.family) is Gaussian}
        chosen |= changed
        for name, feature in smooth.items():
            if feature.columns in flags:
                given = chosen.get(name)
                family = values_of(given[0] if isinstance(given, tuple) else given)
                chosen[name] = Missing(changed.get(name, family), flags[feature.columns]), list(feature.columns)
        return replace(schema, features=smooth), chosen or None


def by_label(parameters: Mapping[str, Any], labels: list[Any]) -> dict[str, Any]:
    """Convert the texts in ``class_prior`` and ``unknown`` to labels; new labels in ``class_prior`` stay text."""
    given, said, unknown = parameters["class_prior"], parameters["unknown"], None
    texts, textual = {str(label): label for label in labels}, all(isinstance(label, str) for label in labels)
    extra = {}
    if said is not None:
        text, mass = _with_mass(said)
        extra[text] = label = text if textual else _number(text, labels)
        unknown = label if mass is None else {label: mass}
    if isinstance(given, Mapping):
        extra |= {text: text for text in given if textual}
        if not set(texts) <= set(given) <= {*texts, *extra}:
            raise click.BadParameter(
                f"Expected a probability for each of {list(map(str, labels))}; got {list(given)}",
                param_hint="--class-prior",
            )
        given = {(extra | texts)[text]: p for text, p in given.items()}
    return {**parameters, "class_prior": given, "unknown": unknown}


def named_in(parameters: Mapping[str, Any]) -> list[Any]:
    """The class labels in the parameters ``class_prior`` and ``unknown``."""
    prior, unknown = parameters["class_prior"], parameters["unknown"]
    labels = [*prior] if isinstance(prior, Mapping) else []
    return labels if unknown is None else [*labels, *(unknown if isinstance(unknown, Mapping) else [unknown])]


def _with_mass(said: str) -> tuple[str, float | None]:
    label, _, p = said.rpartition("=")
    try:
        return (label, float(p)) if label else (said, None)
    except ValueError:
        return said, None


def _number(text: str, labels: list[Any]) -> Any:
    try:
        return float(text) if any(isinstance(label, float) for label in labels) else int(text)
    except ValueError as error:
        raise click.BadParameter(
            f"the labels are numbers, so the unknown class needs a number, such as -1; got {text!r}",
            param_hint="--unknown",
        ) from error


def _features(specified: Sequence[str], m: float | None) -> dict[str, Any]:
    from bayesnb.data.specifications import family_named, parsed

    features: dict[str, Any] = {}
    for text in specified:
        column, equals, said = text.rpartition("=")
        if not equals:
            if text in ("best", "missing"):
                _refuse(f"{text} is for all columns: give it alone, or name each column, as COL={text}")
            _refuse(f"{text!r} is not COL=FAMILY, such as {text}=categorical; bayesnb fit --help lists the families")
        kind = said.partition(":")[0]
        try:
            family_named(kind)
        except ValueError as error:
            out = f". To leave the column out, write --drop {column}" * (kind in ("ignore", "none", "drop", "skip"))
            _refuse(f"{text!r} is not COL=FAMILY: {error}{out}")
        if column in features:
            _refuse(f"column {column!r} is named twice")
        try:
            features[column] = parsed(said, m)
        except (TypeError, ValueError) as error:
            _refuse(f"{text!r}: {error}")
    return features


def _refuse(said: str) -> NoReturn:
    raise click.BadParameter(said, param_hint="--feature")


def _smoothed(feature: Feature, m: float) -> Feature:
    if feature.family.support.kind not in ("levels", "zero_one") or feature.family.conjugate.node_names:
        return feature
    return replace(feature, family=replace(feature.family, prior=feature.family.conjugate.m_estimate(m)))


def _class_prior(text: str | None) -> Any:
    if text is None or text == "laplace":
        return None
    if text in ("frequencies", "uniform"):
        return text
    found = {}
    for item in text.split(","):
        label, equals, p = item.rpartition("=")
        try:
            found[label.strip()] = float(p)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(
                f"{text!r} is neither laplace, frequencies, uniform nor LABEL=P,LABEL=P", param_hint="--class-prior"
            )
    return found


# The command with these settings and the advised options for the columns of a table


def fit_command(data: str, target: str | None, format: Format, settings: Settings, estimate: str = "predictive") -> str:
    """The command, as text, that fits a model with these settings."""
    words = ["bayesnb", "fit", data, "--target", target or "COLUMN"]
    for name in ("sep", "decimal", "encoding", "skip", "sheet"):
        if (value := getattr(format, name)) is not None:
            words += [f"--{name}", str(value)]
    if format.header is not None:
        words.append("--header" if format.header else "--no-header")
    for option, marks in (("--na", format.na), ("--keep-na", format.keep_na)):
        words += [word for mark in marks for word in (option, mark)]
    usual = "none" if settings.without_dependence(estimate) else "auto"
    settings = replace(settings, dependence=None if settings.dependence == usual else settings.dependence)
    for each_field in fields(Settings):
        value, option = getattr(settings, each_field.name), each_field.name
        if value != each_field.default:
            for each in value if isinstance(value, tuple) else (value,):
                words += [f"--{option.replace('_', '-')}", str(each)]
    words += [] if estimate == "predictive" else ["--estimate", estimate]
    stem = re.sub(r"\W+", "-", re.split(r"[/\\]", data.rstrip("/\\"))[-1].split(".")[0]).strip("-") or "table"
    return shlex.join([*words, "-o", f"{stem}.bayesnb"])
