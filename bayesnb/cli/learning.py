"""``bayesnb fit``, ``update``, ``forget`` and ``merge``: the commands that make or change a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options, outputs
from bayesnb.cli.models import read_model, with_dependence
from bayesnb.cli.settings import Settings, by_label
from bayesnb.cli.sources import opened, opened_for
from bayesnb.cli.terminal import say, warn
from bayesnb.wording import RefusedError, refuse

if TYPE_CHECKING:
    from bayesnb.data.csv_reader import Format
    from bayesnb.inference.classifier import Classifier


@options.command(output="to_model")
def fit(
    data: str, target: str | None, output: str, settings: Settings, estimate: str, format: Format, force: bool
) -> int:
    """Learn a model from a table of any size, and write it to a file.

    With --dependence, the exponents (powers of likelihoods) are learned from a random sample of rows.
    """
    from bayesnb import learning
    from bayesnb.data import engines
    from bayesnb.data.parts import PartSummarizer
    from bayesnb.data.readings import may_be_of
    from bayesnb.data.specifications import Unlabelled
    from bayesnb.inference.leave_one_out import left_out_scores
    from bayesnb.learned import Learned, believed
    from bayesnb.report.parts import count_of

    outputs.require_output(output, "model", [data], outputs.is_model, force)
    parameters = settings.parameters()
    table = opened(data, format, settings, (target,))
    target = table.target_of(target)
    for column, spec in settings.features().items():
        if not isinstance(spec, tuple) and not any(may_be_of(column, name) for name in table.names):
            table.require(column, "--feature")
    # The labels of a class prior stay text until the classes are known.
    by_text = {"unknown": None} | ({"class_prior": None} if isinstance(parameters["class_prior"], Mapping) else {})
    asked = learning.EstimatorParameters(estimate=estimate, unlabelled=Unlabelled(weight=0), **parameters | by_text)
    passing, sample = table.watched()
    if settings.dependence == "none":
        summary, drawn = engines.summary(asked, passing, target, settings.weight, None, table.tables, table.marks), None
    else:
        spec = settings.exponents()
        summary, drawn = engines.summary_and_sample(
            asked, passing, target, settings.weight, spec.rows, spec.random_seed, table.tables, table.marks
        )
        if drawn is None and settings.dependence is not None:
            raise ValueError(
                f"none of {spec.rows:,} rows that were drawn from {data} has a class to learn exponents from"
            )
    if len(summary.classes) == 1:
        warn(f"all rows have one class, {summary.classes[0]!s}: it has probability 1 until rows of another are learned")
    seen = sample()
    for remark in table.examined(seen.source, target, summary.rows):
        if remark.serious:
            warn(remark.sentence)
    schema, features = settings.smoothed(summary.schema)
    classes = summary.classes
    named = by_label(parameters, classes.tolist())
    asked = replace(asked, features=features, class_prior=named["class_prior"], unknown=named["unknown"])
    left_out = (*settings.drop, *([] if settings.weight is None else [settings.weight]))
    reading = {"drop": left_out, "na": format.na, "keep_na": format.keep_na}
    reading |= {} if settings.weight is None else {"weight": (settings.weight,)}
    learned = Learned.of(asked, None, replace(summary, schema=schema))
    clf = believed(asked, None, learned, target=target, reading=reading)
    if summary.blank:
        say(f"{summary.blank:,} rows without a class are left out")
    rows = dict(zip(clf.classes, clf.statistics.rows, strict=True))
    n = len(summary.schema.features)
    say(
        f"{summary.rows - summary.blank:,} rows, {n} {'feature' if n == 1 else 'features'}; "
        f"{'weights: ' * (settings.weight is not None)}{count_of(rows, 8)}"
    )
    if drawn is not None:
        labels = drawn.target.classes[drawn.target.codes]
        weight, naive = None if (drawn.weight == 1).all() else drawn.weight, clf

        def learn(asked: learning.EstimatorParameters) -> Classifier:
            if asked.dependence is None:
                return naive
            say(f"learning exponents from {len(drawn.weight):,} rows")
            return learning.with_exponents(asked, naive, drawn.table, labels, weight)

        asked, clf = with_dependence(asked, settings, learn)
    if drawn is None:
        drawn = PartSummarizer.of(asked, target, settings.weight, drop=True).rows(seen)
    clf = replace(clf, record={"data": table.name, **left_out_scores(clf, drawn)})
    outputs.save_model(asked, clf, output)
    return 0


CHANGED = ("target", "weight", "format", "output", "force")
"""Names of the options of commands that change a model file."""


@options.command("MODEL MORE", names=CHANGED, output="to_same_model")
def update(model: str, more: str, **given: Any) -> int:
    """Add further rows to a model.

    With --dependence none, the result is as if the model had learned all rows from the start. With any other
    --dependence, the learned exponents (powers of likelihoods), bin edges and model weights do not change. The old file
    stays until the new file is complete. If another process changes the file meanwhile, the rows are added to the
    changed model. Rows from stdin cannot be read again, so in this case the command fails and writes nothing. Before
    the file is replaced, the command warns of numbers that are far from the learned numbers, because they may be in
    another unit. The rows are learned all the same; `forget` removes them.
    """
    return _changed("with_rows", model, more, **given)


@options.command("MODEL ROWS", names=CHANGED, output="to_same_model")
def forget(model: str, rows: str, **given: Any) -> int:
    """Remove learned rows from a model.

    With --dependence none, the result is as if the model had never learned the rows. With any other --dependence, the
    removed rows still influence the exponents (powers of likelihoods), bin edges and model weights.

    A model with --dependence none holds sums, not rows. It refuses rows that these sums cannot contain, but it cannot
    notice other rows that it has never learned.
    """
    return _changed("without_rows", model, rows, **given)


TRIES = 100
"""How often a model file is read again if other processes change it."""


def _changed(
    verb: str, model: str, data: str, target: str | None, weight: str | None, format: Format, output: str | None,
    force: bool,
) -> int:  # fmt: skip
    from bayesnb import learning
    from bayesnb.data.warned import spelled_apart
    from bayesnb.inference.marks import read_otherwise
    from bayesnb.modelfile.document import ModelChangedError

    in_place = outputs.same_place(output, model)
    if not in_place:
        outputs.require_output(output, "model", (model, data), outputs.is_model, force)
    for left in range(TRIES, 0, -1):
        parameters, before, read = read_model(model)
        label = before.target if target is None else target
        weight = weight or next(iter(before.reading.get("weight", ())), None)
        if label is None:
            raise click.UsageError(f"{model} does not say which column holds the class: name it with --target")
        adds = verb == "with_rows"
        table = opened_for(before, data, format, label, weight, learn=adds, new=adds)
        table.require(label, "--target")
        table.require(weight, "--weight")
        marks = {name: getattr(format, name) for name in ("na", "keep_na")}
        for said in read_otherwise(before, marks):
            warn(said)
        clf = getattr(learning, verb)(parameters, before, table.tables(), label, sample_weight=weight)
        try:
            path = model if in_place else output or "-"
            outputs.save_model(parameters, clf, path, replacing=read if in_place else None)
            break
        except ModelChangedError:
            # Another process changed the file: learn these rows into the changed model, if they can be read again.
            if data == "-" or left == 1:
                raise
    say(f"{before.statistics.counted()} became {clf.statistics.counted()}")
    if verb == "with_rows":
        how = ""
        if clf.statistics.close_to(before.statistics + before.statistics):
            how = "equal counts and sums"
        elif before.dependence and before.dependence.statistics.near.repeated_in(clf.dependence.statistics.near):
            how = "cell by cell, except that numbers are compared by intervals"
        if how:
            warn(
                f"the rows of {data} look like rows that {model} had learned ({how}), so they count once more; "
                "bayesnb forget with the same rows undoes this"
            )
    known = set(before.classes.tolist())
    if new := [
        f"{c} ({n:,.10g})" for c, n in zip(clf.classes.tolist(), clf.statistics.rows, strict=True) if c not in known
    ]:
        say(f"new classes, with their rows: {', '.join(new)}")
        for said in spelled_apart(clf.classes.tolist()):
            warn(said)
    if clf.dependence is not None and not clf.believed.of_forests:
        say("the exponents, intervals and weights of the dependence stay as they were: to learn them too, fit all rows")
    return 0


@options.command("MODELS…", output="to_model")
def merge(models: Sequence[str], output: str, force: bool) -> int:
    """Merge models of different rows into one model of all rows.

    Fit all models with the same options, such as the options that inspect advises for the first table. Models without a
    dependence (--dependence none) merge exactly, in any order. With a dependence, the merged model keeps the exponents
    (powers of likelihoods) of the first model. If all models count rows for the same pairs of columns and the same
    intervals, these counts are added.

    If models read columns differently, the error names all differences. Numbers of a column that are far apart in two
    models, as in different units, cause a warning.
    """
    from pathlib import Path

    from bayesnb import learning
    from bayesnb.learned import counts_alike
    from bayesnb.statistics.statistic import same

    if len(models) < 2:
        raise click.UsageError("Expected two models or more")
    outputs.require_output(output, "model", models, outputs.is_model, force)
    parameters, clf, _ = read_model(models[0])
    of_file, ignored, refused, part = {Path(models[0]).read_bytes(): models[0]}, [], [], ""
    for other in models[1:]:
        if (first := of_file.get(content := Path(other).read_bytes())) is not None:
            warn(f"{other} is the same model as {first}: its rows are counted again")
        of_file[content] = other
        try:
            another = read_model(other)[1]
            if not (alike := counts_alike(parameters, clf, another)):
                part = f"; it counts dependence only in the rows of {models[0]}, and only these rows can be forgotten"
            if (clf.dependence is None) != (another.dependence is None):
                one, none = (models[0], other) if another.dependence is None else (other, models[0])
                warn(
                    f"{one} has a dependence and {none} has none: the merged model is as the first, "
                    f"{models[0]}{part}; fit both with the same dependence"
                )
            elif clf.dependence is not None and not (
                alike and same(clf.dependence.exponents, another.dependence.exponents)
            ):
                ignored.append(other)
            clf = learning.merged(parameters, clf, another, keep=True)
        except ValueError as error:
            refused.append(RefusedError("{other}: {error}", other=other, error=error))
    refuse(refused)
    if ignored:
        warn(
            f"the merged model keeps the dependence that {models[0]} has learned, not that of "
            f"{', '.join(ignored)}{part}. Another order of the models gives other predictions. To learn from all rows, "
            "fit all files at once (a folder or a quoted glob), or fit each file with --dependence none"
        )
    outputs.save_model(parameters, clf, output)
    say(f"{len(models)} models, {clf.statistics.counted()}")
    return 0
