"""``bayesnb fit``, ``update``, ``forget`` and ``merge``: the verbs that make or change a model file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bayesnb import datasets
from bayesnb.cli import options
from bayesnb.cli.outputs import is_model, require_output, same_place
from bayesnb.cli.rows import load_model, save_model, source_of
from bayesnb.cli.terminal import say
from bayesnb.estimates import ESTIMATES

if TYPE_CHECKING:
    from bayesnb.data.encoders import Feature


@click.command(epilog=options.SOURCES)
@click.argument("data", metavar="DATA")
@options.target
@options.to_model
@click.option(
    "--feature", "specified", multiple=True, metavar="COL=FAMILY",
    help="Family of a column, by its name in small letters, such as poisson; binned:EDGE,EDGE…; or, of several columns "
    "as one feature, NAME=FAMILY:COL,COL…. May be repeated; the other columns get theirs by type.",
)  # fmt: skip
@options.weight
@click.option("--m", type=click.FloatRange(0), help="m-estimate: categorical columns are smoothed by M imaginary rows.")
@click.option(
    "--class-prior", metavar="PRIOR",
    help="laplace (the default), frequencies, uniform, or LABEL=P,LABEL=P… as known probabilities.",
)  # fmt: skip
@click.option("--unseen", type=click.Choice(["missing", "new", "error"]), default="missing", show_default=True,
              help="How to treat a level that was never seen.")  # fmt: skip
@click.option("--estimate", type=click.Choice(list(ESTIMATES)), default="predictive", show_default=True,
              help="Which probabilities the model predicts.")  # fmt: skip
@options.dependence
@options.force
def fit(
    data: str, target: str | None, output: str, specified: tuple[str, ...], weight: str | None, m: float | None,
    class_prior: str | None, unseen: str, estimate: str, dependence: str | None, force: bool,
) -> int:  # fmt: skip
    """Learn a model from a table of any size, and write it to a file.

    Exponents of a --dependence are learned from rows that are drawn at random while the table is read.
    """
    from bayesnb.data import engines
    from bayesnb.dependence.learned import named
    from bayesnb.estimator import BayesianNB, learn_summary

    require_output(output, "model", [data], is_model, force)
    source = source_of(data)
    if target is None:
        if source is data:
            raise click.UsageError(f"name the column that holds the class with --target: {data} is no embedded data")
        target = datasets.target(data)
    features = _features(specified, m)
    clf = BayesianNB(
        features or None, class_prior=_class_prior(class_prior), unseen=unseen, estimate=estimate, unlabelled_weight=0
    )
    drawn = None
    if dependence is None:
        summary = engines.summary(clf, source, target, weight)
    else:
        spec = named(dependence)
        summary, drawn = engines.summary_and_sample(clf, source, target, weight, spec.rows, spec.random_seed)
        if drawn is None:
            raise ValueError(
                f"none of {spec.rows:,} rows that were drawn from {data} has a class to learn exponents from"
            )
    if m is not None:
        before = summary.schema.features
        smooth = {name: _smoothed(feature, m) for name, feature in before.items()}
        summary = replace(summary, schema=replace(summary.schema, features=smooth))
        features |= {name: f.family for name, f in smooth.items() if f is not before[name] and f.cuts is None}
    classes = summary.classes
    if isinstance(clf.class_prior, dict):
        clf.set_params(class_prior=_by_label(clf.class_prior, classes.tolist()))
    learn_summary(clf.set_params(features=features or None), summary, target)
    if summary.blank:
        say(f"{summary.blank:,} rows without a class are left out")
    each = [f"{label} {n:,.10g}" for label, n in zip(classes, clf.class_count_, strict=True)]
    rows = ", ".join(each[:8]) + (f", and {len(each) - 8:,} classes more" if len(each) > 8 else "")
    say(f"{summary.rows:,} rows, {len(summary.schema.features)} features; {rows}")
    if drawn is not None:
        say(f"learning exponents from {len(drawn.weight):,} rows")
        labels = drawn.target.classes[drawn.target.codes]
        clf.set_params(dependence=dependence).learn_exponents(drawn.table, labels, drawn.weight)
    save_model(clf, output)
    return 0


@click.command(epilog=options.SOURCES.replace("DATA", "MORE"))
@click.argument("model", metavar="MODEL")
@click.argument("more", metavar="MORE")
@options.fitted_target
@options.weight
@options.to_same_model
@options.force
def update(model: str, more: str, target: str | None, weight: str | None, output: str | None, force: bool) -> int:
    """Learn further rows into a model, as if they had been there from the start.

    The old file is there until the new one is whole. If someone else changes it meanwhile, nothing is written.
    """
    return _changed("partial_fit", model, more, target, weight, output, force)


@click.command(epilog=options.SOURCES.replace("DATA", "ROWS"))
@click.argument("model", metavar="MODEL")
@click.argument("rows", metavar="ROWS")
@options.fitted_target
@options.weight
@options.to_same_model
@options.force
def forget(model: str, rows: str, target: str | None, weight: str | None, output: str | None, force: bool) -> int:
    """Unlearn rows that a model has learned, exactly, as if they had never been seen."""
    return _changed("forget", model, rows, target, weight, output, force)


def _changed(
    verb: str, model: str, data: str, target: str | None, weight: str | None, output: str | None, force: bool
) -> int:
    in_place = same_place(output, model)
    if not in_place:
        require_output(output, "model", (model, data), is_model, force)
    clf = load_model(model)
    before = clf.class_count_.sum()
    target = target if target is not None else clf.target_
    if target is None:
        raise click.UsageError(f"{model} does not say which column holds the class: name it with --target")
    read = clf.content_hash_
    getattr(clf, verb)(source_of(data), target, sample_weight=weight)
    save_model(clf, model if in_place else output or "-", replacing=read if in_place else None)
    say(f"rows of weight {before:,.10g} became {clf.class_count_.sum():,.10g}")
    return 0


@click.command()
@click.argument("models", metavar="A B…", nargs=-1, required=True)
@options.to_model
@options.force
def merge(models: Sequence[str], output: str, force: bool) -> int:
    """Merge models of different rows into the one of all of them."""
    if len(models) < 2:
        raise click.UsageError("Expected two models or more")
    require_output(output, "model", models, is_model, force)
    merged = load_model(models[0])
    for other in models[1:]:
        try:
            merged.merge(load_model(other))
        except ValueError as error:
            raise ValueError(f"{other}: {error}") from error
    save_model(merged, output)
    say(f"{len(models)} models, rows of weight {merged.class_count_.sum():,.10g}")
    return 0


def _families() -> dict[str, Any]:
    """The names for --feature: the families that a model file can hold, and binned columns, in small letters."""
    from bayesnb.data.binning import Binned
    from bayesnb.families import families

    kinds = {name: kind for name, kind in families().items() if kind.exact} | {"Binned": Binned}
    return {re.sub("(?<=.)(?=[A-Z])", "-", name).lower(): kind for name, kind in kinds.items()}


def _features(specified: Sequence[str], m: float | None) -> dict[str, Any]:
    """The families of named columns."""
    from bayesnb.data.binning import Binned
    from bayesnb.priors import Dirichlet

    families, features = _families(), {}
    for text in specified:
        column, equals, said = text.rpartition("=")
        kind, _, rest = said.partition(":")
        if not equals or kind.lower() not in families:
            _refuse(f"{text!r} is not COL=FAMILY with a family of {', '.join(families)}")
        if column in features:
            _refuse(f"column {column!r} is named twice")
        family = families[kind.lower()]
        items = [item.strip() for item in rest.split(",") if item.strip()]
        if family is not Binned:
            features[column] = (family(), items) if items else family()
            continue
        try:
            prior = {} if m is None else {"prior": Dirichlet.m_estimate(m)}
            features[column] = Binned(edges=tuple(float(item) for item in items) or None, **prior)
        except ValueError as error:
            _refuse(f"{text!r}: {error}")
    return features


def _refuse(said: str) -> NoReturn:
    raise click.BadParameter(said, param_hint="--feature")


def _smoothed(feature: Feature, m: float) -> Feature:
    """Give a feature of levels or of zeros and ones the prior that is worth m rows. Other features stay as they are."""
    from bayesnb.families.support import LEVELS, ZEROS_AND_ONES

    if feature.family.support not in (LEVELS, ZEROS_AND_ONES):
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


def _by_label(given: dict[str, float], labels: list[Any]) -> dict[Any, float]:
    """Probabilities by label, not by the text of a label. Where labels are text, one that no row has can be named."""
    texts = {str(label): label for label in labels}
    if all(isinstance(label, str) for label in labels):
        texts |= {text: text for text in given}
    if set(given) != set(texts):
        raise click.BadParameter(
            f"Expected a probability for each of {list(map(str, labels))}; got {list(given)}",
            param_hint="--class-prior",
        )
    return {texts[text]: p for text, p in given.items()}
