"""The command that fits a model, with what is advised about the columns of a table, to be copied."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from bayesnb.cli.settings import Settings

if TYPE_CHECKING:
    from bayesnb.cli.doctor import Remark
    from bayesnb.data.csv_reader import Format


def fit_command(data: str, target: str | None, format: Format, settings: Settings, estimate: str = "predictive") -> str:
    """The command that fits a model to a file that is read in this way, with these settings."""
    words = ["bayesnb", "fit", data, "--target", target or "COLUMN"]
    for name in ("sep", "decimal", "encoding", "sheet"):
        if (value := getattr(format, name)) is not None:
            words += [f"--{name}", str(value)]
    if format.header is not None:
        words.append("--header" if format.header else "--no-header")
    for mark in format.na:
        words += ["--na", mark]
    for field in fields(Settings):
        value, option = getattr(settings, field.name), field.name
        if value != field.default:
            for each in value if isinstance(value, tuple) else (value,):
                words += [f"--{option.replace('_', '-')}", str(each)]
    words += [] if estimate == "predictive" else ["--estimate", estimate]
    stem = re.sub(r"\W+", "-", re.split(r"[/\\]", data)[-1].split(".")[0]).strip("-") or "table"
    return shlex.join([*words, "-o", f"{stem}.bayesnb"])


def advised(settings: Settings, remarks: Iterable[Remark]) -> Settings:
    """The settings with what the remarks advise: columns that are left out, and the families of others."""
    remarks = [remark for remark in remarks if str(remark.column) != settings.weight]
    drop = dict.fromkeys([*settings.drop, *(str(remark.column) for remark in remarks if remark.drop)])
    given = {} if settings.of_all else {text.rpartition("=")[0]: text.rpartition("=")[2] for text in settings.feature}
    joint = {column for spec in settings.features().values() if isinstance(spec, tuple) for column in spec[1]}
    for remark in remarks:
        column = str(remark.column)
        if settings.of_all or not remark.families or column in drop or column in joint:
            continue
        if (family := remark.families[0]) == "missing":
            given[column] = f"missing:{given[column]}" if column in given else family
        else:
            given.setdefault(column, family)
    feature = settings.feature if settings.of_all else tuple(f"{column}={said}" for column, said in given.items())
    return replace(settings, drop=tuple(drop), feature=feature)
