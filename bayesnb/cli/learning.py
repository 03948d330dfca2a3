"""``bayesnb fit``, ``update``, ``forget`` and ``merge``: the verbs that make or change a model file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bayesnb import datasets
from bayesnb.cli import options
from bayesnb.cli.outputs import is_model, require_output, same_place
from bayesnb.cli.rows import load_model, save_model, source_of
from bayesnb.cli.terminal import say

if TYPE_CHECKING:
    from bayesnb.encoding import Feature

FAMILIES = {
    "bernoulli": "Bernoulli", "categorical": "Categorical", "gaussian": "Gaussian", "poisson": "Poisson",
    "multinomial": "Multinomial", "binned": "Binned",
}  # fmt: skip


@click.command(epilog=options.SOURCES)
@click.argument("data", metavar="DATA")
@options.target
@options.to_model
@click.option(
    "--feature", "told", multiple=True, metavar="COL=FAMILY",
    help="Family of a column: bernoulli, categorical, gaussian, poisson, binned:EDGE,EDGE…; or a bag of words, as "
    "NAME=multinomial:COL,COL…. May be repeated; the others get theirs by type.",
)  # fmt: skip
@options.weight
@click.option("--m", type=click.FloatRange(0), help="m-estimate: categorical columns are smoothed by M imaginary rows.")
@click.option(
    "--class-prior", metavar="PRIOR",
    help="laplace (the default), frequencies, uniform, or LABEL=P,LABEL=P… as known probabilities.",
)  # fmt: skip
@click.option("--unseen", type=click.Choice(["missing", "new", "error"]), default="missing", show_default=True,
              help="What a level is that was never seen.")  # fmt: skip
@click.option("--estimate", type=click.Choice(["predictive", "mean", "map", "mle"]), default="predictive",
              show_default=True, help="Which probabilities the model predicts.")  # fmt: skip
@options.force
def fit(
    data: str, target: str | None, output: str, told: tuple[str, ...], weight: str | None, m: float | None,
    class_prior: str | None, unseen: str, estimate: str, force: bool,
) -> int:  # fmt: skip
    """Learn a model from a table of any size, and write it to a file."""
    from bayesnb import engines
    from bayesnb.estimator import BayesianNB, learn_summary

    require_output(output, "model", [data], is_model, force)
    source = source_of(data)
    if target is None:
        if source is data:
            raise click.UsageError(f"name the column that holds the class with --target: {data} is no embedded data")
        target = datasets.target(data)
    features = _features(told, m)
    clf = BayesianNB(
        features or None, class_prior=_class_prior(class_prior), unseen=unseen, estimate=estimate, unlabelled_weight=0
    )
    summary = engines.summary(clf, source, target, weight)
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
    read, arguments = clf.content_hash_, {"sample_weight": weight}
    getattr(clf, verb)(source_of(data), target, **arguments)
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


def _features(told: Sequence[str], m: float | None) -> dict[str, Any]:
    """The families of named columns."""
    import bayesnb

    found: dict[str, Any] = {}
    for text in told:
        column, equals, said = text.rpartition("=")
        kind, _, rest = said.partition(":")
        if not equals or kind.lower() not in FAMILIES:
            raise click.BadParameter(
                f"{text!r} is not COL=FAMILY with a family of {', '.join(FAMILIES)}", param_hint="--feature"
            )
        if column in found:
            raise click.BadParameter(f"column {column!r} is named twice", param_hint="--feature")
        family = getattr(bayesnb, FAMILIES[kind.lower()])
        items = [item.strip() for item in rest.split(",") if item.strip()]
        if kind.lower() == "multinomial":
            found[column] = (family(), items) if items else family()
        elif kind.lower() == "binned":
            try:
                prior = {} if m is None else {"prior": bayesnb.Dirichlet.m_estimate(m)}
                found[column] = family(edges=tuple(float(item) for item in items) or None, **prior)
            except ValueError as error:
                raise click.BadParameter(f"{text!r}: {error}", param_hint="--feature") from error
        elif items:
            raise click.BadParameter(f"{text!r}: {kind} takes nothing more", param_hint="--feature")
        else:
            found[column] = family()
    return found


def _smoothed(feature: Feature, m: float) -> Feature:
    """The feature under the prior that is worth m rows, if it is one of probabilities."""
    from bayesnb.families.bernoulli import Bernoulli
    from bayesnb.families.categorical import Categorical
    from bayesnb.priors import Beta, Dirichlet

    if isinstance(feature.family, Categorical):
        return replace(feature, family=Categorical(Dirichlet.m_estimate(m)))
    return replace(feature, family=Bernoulli(Beta.m_estimate(m))) if isinstance(feature.family, Bernoulli) else feature


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
