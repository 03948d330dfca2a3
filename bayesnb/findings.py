"""Findings about columns that deserve attention before a model is fitted."""

from __future__ import annotations

import html
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api import types

from bayesnb.data import amounts, improving, readings, warned
from bayesnb.data.arrow import marks_in, spelled
from bayesnb.data.columns import Column, all_but, missing_in
from bayesnb.data.drawing import few_rows
from bayesnb.data.rows import given_beside
from bayesnb.data.specifications import parsed
from bayesnb.data.tables import Table
from bayesnb.data.targets import few_classes, looks_like_no_class
from bayesnb.families.gaussian import LogNormal
from bayesnb.families.trees import PolyaTree
from bayesnb.numerics import Array
from bayesnb.wording import Cure, Message, RefusedError, Spelled, meant

if TYPE_CHECKING:
    from bayesnb.data.csv_reader import CsvLayout


LOOKED_AT = 50_000
"""The number of rows that the rules examine; a larger table is sampled at random."""

NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
PAIR = rf"{NUMBER}\s*[/x×|]\s*{NUMBER}"
RANGE = r"\s*(\d+(?:[.,]\d+)?)(?:\s*[^\W\d]+)?\s*(?:-|–|to|bis)\s*(\d+(?:[.,]\d+)?)(?:\s*[^\W\d]+)?\s*"
WEIGHTS = re.compile("wgt|weight|gewicht|(^|_)wt(_|$)", re.IGNORECASE)
"""Pattern of names of columns of row weights. Amounts of money have similar values, but need no remark."""

WEIGHED = re.compile(r"(^|[^a-z])(m?g|kg|grams?|gramm|lbs?|oz|t|tons?|pounds?|birth|body)([^a-z]|$)", re.IGNORECASE)
"""Pattern of names of columns that hold weights of things, not of rows."""

SENTINELS = (-9, -99, -999, -9999, 99, 999, 9999, 99999, 999999)

DEGREES = (
    "slightly|a little|a bit|mildly|partly|partially|somewhat|moderately|fairly|rather|quite|pretty|mostly|largely||"
    "really|much|highly|very|strongly|totally|completely|fully|very much|extremely"
)
"""Words before an answer that weaken or strengthen it, from the weakest to the strongest; "" is the answer itself."""

NEGATIONS = "not at all|not|not very|not too|not so|not really"
MIDDLE = (
    "mediocre|fair|so so|ok|okay|acceptable|adequate|satisfactory|medium|med|mid|middle|moderate|average|normal|"
    "neutral|neither|mixed|undecided|unsure|same|the same|about the same|unchanged|no change"
)
"""Answers between two opposites. Alone, they have no order."""

OPPOSITES = (
    "/disagree/agree/; /unsatisfied|dissatisfied/satisfied/delighted; miserable/sad|unhappy/happy/; "
    "horrible|awful|terrible/poor|bad/good/great|excellent|outstanding|perfect; "
    "impossible/improbable|unlikely/possible|probable|likely/certain; "
    "none|minimal/low/elevated|high/severe|critical|urgent|extreme; "
    "extra small|tiny/small/big|large/extra large|huge|enormous; /easy/hard|difficult/impossible; none/light/heavy/; "
    "none/weak/strong/; freezing/cool|cold/warm|hot/; /slow/quick|fast/; /soft/firm|hard/; /short/long/; /short/tall/; "
    "/young/old/; /thin/thick/; /shallow/deep/; /narrow/wide/; free/cheap/expensive/; /worse/better/; "
    "none/less|fewer/more/; /smaller|lower/higher|greater|larger/; /negative/positive/; "
    "/unimportant/important/essential; /uncommon|rare/common/; /below average/above average/"
)
"""Pairs of opposites, separated by semicolons: words below, words of the low end, of the high end, and words above."""


def _between(text: str) -> list[str]:
    """The levels of an ordinal scale, in order, made from words for its two ends, such as "bad" and "good"."""
    lowest, low, high, highest = (part.split("|") if part else [] for part in text.split("/"))
    denied = [f"{negation} {word}" for negation in NEGATIONS.split("|") for word in high]
    neither = [f"neither {one} nor {other}" for a in low for b in high for one, other in ((a, b), (b, a))]

    def graded(words: list[str]) -> list[str]:
        return [f"{degree} {word}".strip() for degree in DEGREES.split("|") for word in words]

    return [*lowest, *denied, *graded(low)[::-1], *MIDDLE.split("|"), *neither, *graded(high), *highest]


SCALES = [
    *map(_between, OPPOSITES.split("; ")),
    *(
        scale.split("|")
        for scale in (
            "never|none of the time|almost never|hardly ever|very rarely|very seldom|rarely|seldom|once in a while|"
            "sometimes|occasionally|some of the time|fairly often|regularly|often|frequently|usually|mostly|very often|"
            "very frequently|most of the time|almost always|nearly always|always|all of the time",
            "never|annually|yearly|quarterly|monthly|weekly|daily|hourly",
            "xxs|xs|s|m|l|xl|xxl|xxxl",
            "none|absent|normal|negligible|insignificant|trivial|minimal|very mild|mild|very minor|minor|slight|medium|"
            "moderate|moderately severe|marked|serious|major|severe|very severe|critical|catastrophic|extreme|fatal",
            "not at all|not much|not very|not really|slightly|very little|a little|a bit|a little bit|somewhat|"
            "moderately|fairly|rather|quite|quite a bit|very|very much|extremely|a lot|a great deal|completely",
            "none|nothing|very few|few|a few|very little|little|a little|some|several|many|a lot|much|most|"
            "a great deal|all|everything",
            "definitely not|probably not|unsure|undecided|maybe|possibly|probably|definitely",
            "definitely no|no|probably no|maybe|probably yes|yes|definitely yes",
            "none|novice|beginner|basic|elementary|intermediate|advanced|proficient|fluent|expert",
            "none|primary|secondary|tertiary",
            "stimme überhaupt nicht zu|stimme gar nicht zu|stimme nicht zu|stimme eher nicht zu|teils/teils|"
            "teils, teils|teils teils|neutral|weder noch|stimme eher zu|stimme zu|stimme voll zu|"
            "stimme voll und ganz zu",
            "sehr unzufrieden|unzufrieden|eher unzufrieden|teils/teils|teils teils|neutral|eher zufrieden|zufrieden|"
            "sehr zufrieden",
            "nie|selten|manchmal|gelegentlich|häufig|oft|meistens|sehr oft|immer",
            "sehr schlecht|schlecht|eher schlecht|mittel|eher gut|gut|sehr gut",
            "keine|sehr niedrig|niedrig|gering|mittel|hoch|sehr hoch",
            "klein|mittel|groß",
            "keine|leicht|mittel|schwer",
            "jamais|rarement|parfois|souvent|toujours",
            "faible|moyen|élevé",
            "nunca|raramente|a veces|a menudo|siempre",
            "bajo|medio|alto",
        )
    ),
]
"""Scales of ordered answers, from the lowest to the highest. Synonyms of an answer follow each other."""

UNLESS_KNOWN = "leave it out if it is not known when a class is to be predicted"
TELLS_ALL = f"tells the class exactly: {UNLESS_KNOWN}"


@dataclass(frozen=True)
class Remark:
    """A finding about a column, or about the whole table if ``column`` is ``None``."""

    column: Any
    said: str | Message  # The observation and the suggested remedy.
    serious: bool = False  # Whether predictions are likely to be wrong without a remedy.
    drop: bool = False  # Whether the column should be left out.
    option: tuple[str, ...] = ()  # Name and value of a command-line option that is a remedy.
    cures: tuple[Cure, ...] = ()  # The advised families, the best first.
    # Whether the user must decide: specifying any family settles the finding, and the suggested command specifies none.
    asks: bool = False
    mark: str = ""  # A text that may mean missing.
    far: bool = False  # Whether the finding is about numbers far from all others.
    tells: bool = False  # Whether it is about a column that predicts the class by itself.
    # The decimal mark of the first cure if only other columns settle the mark; "?" if no column does.
    decimal: str = ""

    @classmethod
    def of_family(
        cls, column: Any, family: Any, said: str, serious: bool = False, asks: bool = False, **data: Any
    ) -> Remark:
        cure = Cure("features", family, column)
        return cls(column, Message(said, cure=cure, **data), serious, cures=(cure,), asks=asks)

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(cure.word for cure in self.cures)

    @property
    def sentence(self) -> Message:
        of_table = self.column is None
        return Message("column {column!r}: " * (not of_table) + "{finding}", column=self.column, finding=self.finding)

    @property
    def finding(self) -> Message:
        drop = Message(" ({cure})", cure=Cure("drop", column=self.column)) if self.drop else ""
        return Message("{said}{drop}", said=self.said, drop=drop)

    @property
    def urgency(self) -> tuple[bool, ...]:
        """Sort key: serious findings first, then columns and rows to leave out, outlying numbers, and markers."""
        data = self.said.data.values() if isinstance(self.said, Message) else ()
        leaves = self.drop or self.column is None or any(isinstance(v, Cure) and v.option == "drop" for v in data)
        return not self.serious, not leaves, not self.far, not (self.option or self.mark)

    def within(self, kind: str) -> Remark:
        return self._with({cure: cure.within(kind) for cure in self.cures})

    def about(self, column: Any) -> Remark:
        return replace(self._with({cure: replace(cure, column=column) for cure in self.cures}), column=column)

    def _with(self, cures: Mapping[Cure, Cure]) -> Remark:
        said = self.said
        if isinstance(said, Message):
            data = {name: cures[v] if v in self.cures else v for name, v in said.data.items()}
            said = Message(said.text, **data)
        return replace(self, said=said, cures=tuple(cures.values()))


@dataclass(frozen=True, eq=False)
class Findings:
    """What deserves attention in a table, and the advised settings; see :func:`inspect`.

    Parameters
    ----------
    remarks : tuple of Remark
    target : column name or None
        The class column of the table.
    numbers : {column: Number}
        The text columns that :meth:`mended` converts to numbers, and how each column is read.
    """

    remarks: tuple[Remark, ...]
    target: Any = None
    numbers: Mapping[Any, readings.Number] = field(default_factory=dict, repr=False)

    @property
    def table(self) -> pd.DataFrame:
        """One row per finding: the ``column`` (``None``: the table), the ``finding``, and whether it is ``serious``."""
        rows = [(remark.column, str(remark.finding), remark.serious) for remark in self.remarks]
        return pd.DataFrame(rows, columns=["column", "finding", "serious"])

    @property
    def drop(self) -> list[Any]:
        """The columns that should be dropped."""
        return list(dict.fromkeys(r.column for r in self.remarks if r.drop and r.column != self.target))

    @property
    def features(self) -> dict[Any, Any]:
        """The recommended family or reading of each column, for :class:`bayesnb.BayesianNB`."""
        return {column: parsed(word) for column, word in advised(self.remarks, self.drop, {}).items()}

    def mended(self, X: Any) -> pd.DataFrame:
        """The table without the columns in ``drop``, with missing-value markers read as missing.

        Columns of text that hold numbers in the inspected table, such as "5,07", become numbers. Spellings of one level
        are joined only during the fit, if ``features`` is used. Typing errors and numbers in another unit are not
        corrected.

        A model that was fitted to this table reads a marker in new rows, such as -999, as a measurement. Convert new
        rows, too: ``clf.predict(found.mended(new))``.
        """
        frame = _with_texts(Table.of(X))
        frame = without(frame.drop(columns=[name for name in self.drop if name in frame]), marks_of(self.remarks))
        for name in self.numbers.keys() & {*frame.select_dtypes(exclude=["number", "bool"])}:
            frame[name] = self.numbers[name].read(Column(name, frame[name]))[name]
        return frame

    def of_numbers(self, table: Table) -> Findings:
        """A copy of the findings that stores which text columns of the inspected ``table`` hold numbers."""
        whole, cures = _with_texts(table), [r.cures[0] for r in self.remarks if r.cures and not r.asks]
        advised = {cure.column: own for cure in cures if isinstance(own := parsed(cure.word), readings.Number)}
        frame = without(whole, marks_of(self.remarks)).drop(columns=[self.target], errors="ignore")
        texts = whole.select_dtypes(exclude=["number", "bool"])
        found = {name: readings.Number(".", "") for name in frame.select_dtypes("number") if name in texts}
        for name in frame.select_dtypes(exclude=["number", "bool"]):
            column = Column(name, frame[name])
            for reading in (advised.get(name), readings.default_reading(column)):
                plain = isinstance(reading, readings.Number) and not reading.unit
                if plain and not readings.amounts_in(readings.texts_of(column)):
                    found.setdefault(name, reading)
        return replace(self, numbers=found)

    def __str__(self) -> str:
        lines = [f"{each.names}: {each.first.finding}{each.likewise}" for each in together(self.remarks)]
        lines += [str(said) for said in [assumed(self.remarks)] if said is not None]
        return "\n".join(lines) or "nothing deserves attention"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        said = assumed(self.remarks)
        page = self.table.style.hide().set_properties(**{"text-align": "left"}).to_html()
        return page if said is None else f"{page}<p>{html.escape(str(said))}</p>"


def advised(remarks: Iterable[Remark], left_out: Collection[Any], given: Mapping[Any, str]) -> dict[Any, str]:
    """Add recommended families, spelled as on the command line, for columns without a family in ``given``."""
    words = dict(given)
    for remark in remarks:
        if remark.families and not remark.asks and remark.column not in left_out:
            word, before = remark.families[0], words.get(remark.column)
            if word != "missing" and remark.column not in given and (before or "").startswith("number:"):
                before = None  # A family of numbers reads amounts of money, too.
            words[remark.column] = f"missing:{before}" if word == "missing" and before else before or word
    return words


NAMED = 4
"""Largest number of columns that :class:`Remarks` names."""


@dataclass(frozen=True)
class Remarks:
    """Columns whose remarks differ only in the column name; ``first`` is the first column's remark."""

    columns: tuple[Any, ...]
    first: Remark

    @property
    def names(self) -> str:
        """The first column names and the number of other columns, as text."""
        return self._listed(lambda column: "the table" if column is None else str(column))

    def _listed(self, spelled: Callable[[Any], str]) -> str:
        names = [spelled(column) for column in self.columns]
        if (more := len(names) - NAMED) > 1:
            names = [*names[:NAMED], f"{more} more"]
        *before, last = names
        return f"{', '.join(before)} and {last}" if before else last

    @property
    def likewise(self) -> str:
        """Text that extends the advice for the first column to the other columns, or an empty string."""
        advises = (self.first.cures or self.first.drop) and len(self.columns) > 1
        return "; in the same way for the other columns" if advises else ""

    @property
    def on_page(self) -> Message:
        return Message(
            "Column{s} {columns}: " * (self.columns != (None,)) + "{finding}{likewise}.",
            s="s" * (len(self.columns) > 1), columns=self._listed(repr), finding=self.first.finding,
            likewise=self.likewise,
        )  # fmt: skip


def together(remarks: Iterable[Remark]) -> list[Remarks]:
    """Join remarks that differ only in the column, in order of first appearance."""
    found: list[tuple[Any, list[Remark]]] = []
    for remark in remarks:
        general = remark.about(None)
        said = general.said if isinstance(general.said, str) else (general.said.text, general.said.data)
        content = said, replace(general, said="")
        members = next((members for other, members in found if other == content), None)
        if members is None:
            found.append((content, [remark]))
        else:
            members.append(remark)
    return [Remarks(tuple(remark.column for remark in members), members[0]) for _, members in found]


def _with_texts(table: Table) -> pd.DataFrame:
    frame = _frame_of(table)
    # Batches of other containers hold their text as categories, which are no declared levels.
    texts = [name for name in frame.select_dtypes("category") if table.column(name).declared is None]
    return frame.astype(dict.fromkeys(texts, object))


def _frame_of(X: Any) -> pd.DataFrame:
    table = Table.of(X)
    return _typed(table.source if table.named else pd.DataFrame(table.source, columns=list(table.names)))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The table ``frame``, where Python objects that a fit reads as numbers have the type of numbers."""
    found = frame.copy(deep=False)
    for name, cells in frame.items():
        column = Column(name, cells)
        # The kind of lists and the like raises the error of a fit.
        if cells.dtype == object and not column.temporal and column.kind not in ("text", "empty"):
            if (read := cells.infer_objects()).dtype == object:  # decimal numbers, and True or False with gaps
                truths = column.kind == "boolean"
                read = cells.astype("boolean") if truths else pd.Series(column.reals(), cells.index)
            found[name] = read
    return found


def inspect(X: Any, y: Any = None) -> Findings:
    """Report what deserves attention in the columns of a table before a model is fitted, and what to do.

    Findings include identifiers, markers of missing values, dates, numbers with units, levels in several spellings,
    skewed amounts, counts, and columns that alone predict the class of nearly every row. Findings also include
    differences and ratios of two columns that help to predict the class. At most 50,000 randomly chosen rows are
    examined.

    Parameters
    ----------
    X : table of any kind in memory
    y : column name or sequence, optional
        The class column of ``X``, or the labels of its rows.

    Returns
    -------
    Findings
        ``table`` has one row per finding. ``features`` holds the recommended family or reading of each column. ``drop``
        lists the columns to leave out. ``mended(X)`` is ``X`` without these columns, and with markers replaced by
        missing cells; it corrects no typing errors and no units.

    Raises
    ------
    ValueError
        If ``X`` has no column ``y``.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = {"id": range(40), "fee": [f"{k * 7 % 40 + 3} €" for k in range(40)], "sex": ["f", "F", "m", "m", "m"] * 8}
    >>> y = ["skis", "tent"] * 20
    >>> found = nb.inspect(X, y)
    >>> print(found)
    id: counts the rows (leave it out)
    fee: numbers in €
    sex: levels in several spellings, 'F' for 'f': features={'sex': nb.Joined()}
    >>> clf = nb.BayesianNB(found.features).fit(found.mended(X), y)
    """
    table = Table.of(X)
    frame = _frame_of(table)
    target: Any = y if isinstance(y, str) else None
    if target is not None and target not in frame:
        hint = meant(target, map(str, frame.columns))
        raise RefusedError("X has no column {column!r}{hint}", column=target, hint=hint)
    if y is not None and target is None:
        y, _ = given_beside(X, {"y": y})
        target = CLASS
        frame = frame.assign(**{CLASS: list(y)})
    declares = [name for name in table.names if table.column(name).declared is not None]
    found = Findings(tuple(examine(frame.reset_index(drop=True), target, len(frame), declares=declares)), target)
    return found.of_numbers(table)


def looked_at(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """The table ``frame``, or a random sample of ``most`` rows if ``frame`` has more rows."""
    return frame if len(frame) <= most else frame.iloc[few_rows(Table.of(frame), most, 0)]


CLASS = "the class"
"""The displayed name of labels that are not a column of the table."""


def examine(
    frame: pd.DataFrame, target: Any, rows: int, layouts: Sequence[CsvLayout] = (),
    declares: Collection[Any] | None = None, marks: Callable[[], amounts.Marks] | None = None,
) -> list[Remark]:  # fmt: skip
    """The remarks about each column of a table, of which ``frame`` may be a sample, in the order of the columns."""
    frame = looked_at(_typed(frame), LOOKED_AT)
    # ``declares`` names the columns whose categorical types declare their levels. ``marks()`` returns the decimal marks
    # of a file, from which columns may have been dropped.
    if declares is None:
        declares = [name for name, kind in frame.dtypes.items() if getattr(kind, "ordered", False)]
    found = _examined(frame, target, rows, layouts, declares)
    return _settled(found, marks or (lambda: amounts.marks_among(map(_texts_in, map(frame.get, frame)))))


def _examined(
    frame: pd.DataFrame, target: Any, rows: int, layouts: Sequence[CsvLayout], declares: Collection[Any]
) -> list[Remark]:
    whole, (frame, kinds, dates, plain, found) = frame, _read(frame, target, declares)
    # Amounts of money and the like are no identifiers, even if all of them are different whole numbers.
    marked = {remark.column for remark in found} - plain
    labels = frame[target] if target is not None and target in frame.columns else None
    of_columns = [r for name in frame if name != target for r in _column(frame[name], labels, name in marked)]
    of_columns = [remark for remark in of_columns if not (remark.drop and remark.column in marked)]
    found += [r.about(f"number of {r.column}") if r.cures and r.column in kinds else r for r in of_columns]
    found = _alike_in_zeros(frame[[name for name in frame if name != target]], found)
    found += _of_reading(layouts, rows)
    found += _codes(whole, target) if layouts else ()
    found += [*_same(frame, target), *_cases(whole, target)]
    if target is not None and target in frame.columns:
        found += [*_target(frame[target].dropna()), *copies_in(whole)]
        # Dates and other columns that become several features are not in ``frame``.
        gaps = list(_gaps_by_class(pd.DataFrame({**whole, **frame, **kinds}), target))
        without_use = {remark.column for remark in (*found, *gaps) if remark.drop}
        found += _telling(frame.drop(columns=without_use & {*frame.columns}), target)
        without_use |= {remark.column for remark in found if remark.drop}
        read = {name: frame[name] for name in frame if types.is_numeric_dtype(frame[name].dtype)}
        read = {name: cells for name, cells in read.items() if name != target and name not in without_use}
        dates = {name: date for name, date in dates.items() if name not in without_use}
        found += _nearly_same(read | {name: days for name, (days, _) in dates.items()})
        numbers = {name: cells for name, cells in read.items() if types.is_numeric_dtype(whole[name].dtype)}
        found += _derived(numbers, dates, frame[target])
        trees = {name for name in dates if days_of(name) in {remark.column for remark in found}}
        gaps = [r.about(days_of(r.column)) if r.column in trees and not r.drop else r for r in gaps]
        # A column with one value may still be informative, because of which of its cells are missing.
        telling = {remark.column for remark in gaps}
        found = [remark if remark.serious or remark.column not in telling else replace(remark, drop=False)
                 for remark in found] + gaps  # fmt: skip
    frame = whole
    place = {name: k for k, name in enumerate(frame.columns)}
    place |= {f"number of {name}": place[name] for name in kinds} | {days_of(name): place[name] for name in dates}
    # One serious remedy is enough: a dropped column needs no further remedy.
    dropped = {remark.column for remark in found if remark.drop}
    without_remark = dropped | {days_of(name) for name in dates if name in dropped}
    found = [remark for remark in found if remark.drop or remark.column not in without_remark]
    found = [*_counts(looked_at(frame.drop(columns=dropped - {target}), MOST_ROWS), target), *found]
    kept = {mark for layout in layouts for mark in layout.keep_na}
    found = [remark for remark in found if not (remark.mark and kept & {remark.mark, f"{remark.column}={remark.mark}"})]
    rest = without(frame, marks_of(found), typed=bool(layouts))
    if rest.isna().sum().sum() > frame.isna().sum().sum():
        # Treat the marker as missing and examine the remaining cells again.
        marked = [remark for remark in found if remark.option]
        numeric = {*frame.select_dtypes("number")}
        again = [remark for remark in _examined(rest, target, rows, layouts, declares) if remark not in marked]
        # A column read as levels is not described as numbers too, as it would be after the remedy.
        levels = (
            {remark.column for remark in marked if remark.serious and remark.column not in numeric}
            - kinds.keys()
            - plain
        )
        kept = [r for r in again if r.column not in levels or r.cures or r.option or r.drop or r.serious or r.mark]
        found = marked + kept
    place[None] = len(place)
    return sorted(found, key=lambda remark: place.get(remark.column, -1))


def days_of(name: Any) -> str:
    """The name of the feature column that holds the elapsed time of the date column ``name``."""
    return f"elapsed of {name}"


def _read(
    frame: pd.DataFrame, target: Any, declares: Collection[Any]
) -> tuple[pd.DataFrame, dict[str, pd.Series], dict[str, tuple[pd.Series, str]], set[Any], list[Remark]]:

    found: list[Remark] = []
    plain = set[Any]()
    kinds: dict[str, pd.Series] = {}
    dates: dict[str, tuple[pd.Series, str]] = {}
    labels = frame[target] if target is not None and target in frame.columns else None
    for name in [name for name in frame.columns if name != target]:
        if pd.api.types.is_numeric_dtype(frame[name].dtype) or frame[name].dropna().nunique() < 2:
            continue
        column = Column(name, frame[name].reset_index(drop=True), name in declares)
        fitting = readings.recognised_in(column)
        reading = readings.default_reading(column, fitting)
        if not fitting and getattr(frame[name].dtype, "ordered", False):
            continue
        texts = () if fitting or column.declared else readings.texts_of(column)
        money = readings.amounts_in(texts, warned.looks_like_identifier(len(texts), column.values.count()))
        cells = column.values.dropna()
        written = None if fitting or money else _as_text(cells.astype(str), _counted(cells))
        if len(money) == 1:
            numbers, unit = money[0].read(column)[name], money[0].unit
            named = column.values.map(lambda cell: bool(amounts.unit_of(cell))).sum()
            said = "{n:,} of {rows:,} cells are in {unit}, the others have no unit, and all are read as levels: {cure}"
            # Families of numbers read currencies, so they may be proposed too.
            of_currency = amounts.is_currency(unit)
            # In a column of 2 M and 300, or 5 CR and 7, the text may change the number.
            asks = not (of_currency or unit in amounts.UNITS) and any(map(str.isalpha, unit))
            if all(map(amounts.unit_of, texts)):
                said = "numbers with the same text, {unit!r}, all read as levels. If they are amounts: {cure}"
                asks = True
            found.append(Remark.of_family(name, money[0].spelled, said, True, asks=asks, n=named,
                                          rows=np.isfinite(numbers).sum(), unit=unit))  # fmt: skip
            frame = frame.assign(**{name: numbers}) if of_currency else frame.drop(columns=name)
        elif written is not None and written.cures and not written.asks:
            found, plain = [*found, written], plain | {name}
            frame = frame.assign(**{name: parsed(written.families[0]).read(column)[name]})
        elif not fitting and not money:
            # Without the markers, the column is examined again. Markers that stay levels are examined now.
            if partly := [*_marked(name, column.values)] or [*_in_part(name, column)]:
                found = [*found, *partly]
                if any(remark.option or not remark.mark for remark in partly):
                    frame = frame.drop(columns=name)
        elif reading is None:
            both, texts = fitting or money, readings.texts_of(column)
            cures = tuple(Cure("features", each.spelled, name) for each in both)
            said = Message(
                "{what}, such as {value!r}, which leave {open} open, so they are read as levels: {cures}",
                what=both[0].said, value=texts[0], open=both[0].left_open(texts, both), cures=cures,
            )  # fmt: skip
            # Numbers with a text that is no usual unit may be names, such as "Room 1,200".
            names = not fitting and all(map(amounts.unit_of, texts))
            decimal = "?" * (isinstance(both[0], readings.OfNumbers) and not names)
            found.append(Remark(name, said, True, cures=cures, asks=True, decimal=decimal))
            frame = frame.drop(columns=name)
        else:
            said, cures, (numbers, own_kinds) = reading.read_as(name), (), reading.numbers(column)
            if isinstance(reading, readings.Date) and reading.format != "time":
                (days,) = readings.Date(format=reading.format).read(column).values()
                code = f"pd.to_datetime(X[{name!r}]{', dayfirst=True' * (reading.format == 'dmy')})"
                dates[name] = pd.Series(days, frame.index, name=name), code
            if isinstance(reading, readings.Date) and labels is not None:
                parts = improving.best_parts(column, reading, labels)
                if parts != reading.parts:
                    cures = (Cure("features", readings.Date(*parts, format=reading.format).spelled, name),)
                    said = Message("{said}; other parts predict better: {cure}", said=said, cure=cures[0])
            if isinstance(reading, readings.Choices) and (gaps := column.missing()).any():
                none = Spelled(f'X[{name!r}].fillna("")', f"--keep-na {shlex.quote(f'{name}=')}")
                more = "{said}; {share} are missing: if a gap means that no option was chosen, {none}"
                said = Message(more, said=said, share=_percent(gaps.mean()), none=none)
            if own_kinds is not None:
                kinds[name] = pd.Series(own_kinds, frame.index)
                found += [*_marked(name, kinds[name]), *_beyond_bounds(name, np.asarray(numbers, float), kinds[name])]
                said = f"{_kinds(kinds[name])}, read as a column of kinds and one of numbers"
            elif numbers is not None and (gaps := np.isnan(numbers) & ~column.missing()).any():
                said = f"{said}; {_missing(column.values[gaps].str.strip().value_counts(), len(gaps))}"
            found.append(Remark(name, said, cures=cures, asks=not cures))
            if name in dates and not cures and improving.better_as(PolyaTree(), dates[name][0], labels):
                said = "a histogram of any shape predicts the class better than a Gaussian: {cure}"
                found.append(Remark.of_family(days_of(name), "PolyaTree", said))
            if numbers is None:
                frame = frame.drop(columns=name)
            else:
                frame = frame.copy(deep=False)
                frame[name] = numbers
    return frame, kinds, dates, plain, found


def _texts_in(cells: pd.Series) -> list[str]:
    return [] if types.is_numeric_dtype(cells.dtype) else [text for text in cells.unique() if isinstance(text, str)]


def _settled(remarks: list[Remark], marks: Callable[[], amounts.Marks]) -> list[Remark]:
    """If the decimal mark of a column can be a point or a comma, prefer the mark that the other columns need."""
    if not any(remark.decimal for remark in remarks) or not (decimal := marks().settled):
        return remarks
    found = []
    for remark in remarks:
        if remark.decimal:
            cures = sorted(remark.cures, key=lambda cure: parsed(cure.word).decimal != decimal)
            text = "{said}; other columns have decimal " + ("commas" if decimal == "," else "points")
            said = Message(text, said=remark.said)
            remark = replace(remark, said=said, cures=tuple(cures), asks=False, decimal=decimal)
        found.append(remark)
    return found


def _beyond_bounds(name: Any, numbers: Any, kinds: pd.Series) -> Iterator[Remark]:
    """Remarks about numbers smaller than every bound such as "<5", or larger than every bound such as ">100"."""
    measured = [amounts.measured(kind) for kind in kinds.dropna().unique()]
    for signs, where in (("<≤", "below"), (">≥", "above")):
        values = [next(iter(each.values.values())) for each in measured if each and each.bound and each.bound in signs]
        if not values:
            continue
        end = min(values) if where == "below" else max(values)
        beyond = numbers[numbers < end if where == "below" else numbers > end]
        if len(beyond):
            said = Message(
                "{n:,} numbers, such as {value:g}, are {where} the bound {end:g} of other cells; they may be in "
                "another unit, or typing errors",
                n=len(beyond), value=float(np.median(beyond)), where=where, end=end,
            )  # fmt: skip
            yield Remark(name, said, True, asks=True)


def _kinds(cells: pd.Series) -> str:
    counts = Counter(cells.dropna())
    del counts["number"]
    (first, n), *rest = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{n:,} of {cells.count():,} are {_short(first)}", *(f"{k:,} {_short(kind)}" for kind, k in rest[:3])]
    return ", ".join(shown) + (f", {sum(k for _, k in rest[3:]):,} other texts" if rest[3:] else "")


BLANK_OR_MARK = {"", *amounts.MARKS}

OFTEN_LEVELS = {"none", "unknown"}
"""Markers that may be ordinary levels in a column of levels: no suggested command reads them as missing there."""


def _marked(name: Any, values: pd.Series) -> Iterator[Remark]:
    held = values.dropna()
    texts = held[held.map(lambda cell: isinstance(cell, str))].astype(object).str.strip()
    counts = texts[texts.str.lower().isin(BLANK_OR_MARK)].value_counts() if len(texts) else texts
    if counts.empty:
        return
    others = sorted({*texts} - {*counts.index})
    plain = len(others) + len(held) - len(texts) > 0 and all(re.fullmatch(NUMBER, text) for text in others)
    of_numbers = plain or bool(readings.recognised(others, plain=True))
    effect = "so all cells are read as levels" if of_numbers else "a level like any other"
    if not of_numbers and (labelled := readings.amounts_in(others)):
        effect = f"the others are numbers with {labelled[0].unit!r}, and all are read as levels"
    for text, n in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        if text == "NA" and _are_codes(texts.unique()):
            continue
        said = "{share} are {text!r}, " + effect + ": if it means missing, {na}"
        said = Message(said, share=_percent(n / len(held)), text=text, na=missing_in(name, text, plain))
        level = not of_numbers and text.lower() in OFTEN_LEVELS
        option = () if level else ("--na", f"{name}={text}")
        yield Remark(name, said, not level, option=option, asks=of_numbers or level, mark=text)


def _are_codes(levels: Iterable[str]) -> bool:
    """Whether levels other than NA are codes of two capital letters."""
    codes = [level for level in levels if level != "NA"]
    return len(codes) >= 4 and all(re.fullmatch("[A-Z]{2}", code) for code in codes)


def _codes(frame: pd.DataFrame, target: Any) -> Iterator[Remark]:
    for name in frame.columns:
        if name == target or types.is_numeric_dtype(frame[name]) or not frame[name].isna().any():
            continue
        if _are_codes(map(str, frame[name].dropna().unique())):
            said = "codes, and {share} are missing: if NA is one of them, add --keep-na {na}"
            share = _percent(frame[name].isna().mean())
            yield Remark(name, Message(said, share=share, na=shlex.quote(f"{name}=NA")), mark="NA")


def _in_part(name: Any, column: Any) -> Iterator[Remark]:
    if column.kind == "text" and column.declared is None and (found := readings.nearly_bounded(column)):
        one = {"numbers": "number", "bounds": "bound", "texts": "text"}
        shown = ", ".join(f"{n:,} different {what if n > 1 else one[what]}" for what, n in found.items() if n)
        said = "{shown}, all read as levels: {cure}"
        yield Remark.of_family(name, readings.Bounded().spelled, said, True, shown=shown)
        return
    texts = readings.texts_of(column) if column.kind == "text" and column.declared is None else []
    units, but = amounts.units_of(texts), ""
    odd = [*islice((t for t in texts if not (amounts.measured(t) or amounts.labelled(t))), 4)] if not units else []
    rest = amounts.units_of(text for text in texts if text not in odd) if 0 < len(odd) < 4 else {}
    if 1 < len({*rest} - {""}) < 4:
        units, but = rest, f" except {', '.join(map(_short, odd))}"
    if len(units) > 1 and any(units):
        most = sorted(units.items(), key=lambda each: -each[1])
        shown = ", ".join(f"{n:,} with {unit or 'no unit'}" for unit, n in most[:4])
        said = "numbers in several units (different cells: {shown}){but}, read as levels: convert them to one unit, or "
        said = Message(said + "{leave}", shown=shown, but=but, leave=Cure("drop", column=name))
        yield Remark(name, said, True, asks=True)
        return
    if not units and (found := readings.nearly_recognised(texts)):
        reading, alone = found
        # Numbers with a text that is no usual unit may be names, such as "Room 3", so no cell is left out unasked.
        names = isinstance(reading, readings.Number) and not all(amounts.measured(t) for t in texts if t not in alone)
        option = ("--na", f"{name}={alone[0]}") if len(alone) == 1 and not names else ()
        yield Remark(name, all_but(reading.said, name, alone), True, option=option, asks=True)


def marks_of(remarks: Iterable[Remark]) -> list[str]:
    """The recommended missing-value markers of the columns that are kept."""
    remarks = [*remarks]
    dropped = {remark.column for remark in remarks if remark.drop}
    return list(dict.fromkeys(r.option[1] for r in remarks if r.option and r.column not in dropped))


def assumed(remarks: Collection[Remark]) -> Message | None:
    """A message about what the advised settings assume, such as "-9 means missing"; ``None`` if nothing."""
    marks, dropped = marks_of(remarks), {remark.column for remark in remarks if remark.drop}
    zeros = [r.column for r in remarks if r.mark == "0" and r.cures and r.column not in dropped]
    what = [f"{', '.join(marks)} mean{'s' * (len(marks) == 1)} missing"] * bool(marks)
    what += [f"0 is an amount in {', '.join(map(str, zeros))}"] * bool(zeros)
    for mark, called in ((",", "comma"), (".", "point")):
        if named := [str(r.column) for r in remarks if r.decimal == mark and r.column not in dropped]:
            what.append(f"the decimal mark of {Remarks((*named,), Remark(None, '')).names} is a {called}")
    said = "{settings} that {what}" + ", and {read} all other cells as values" * bool(what)
    said += ": change {them} where this is wrong."
    if telling := [*dict.fromkeys(str(r.column) for r in remarks if r.tells and r.column not in dropped)]:
        names = Remarks((*telling,), Remark(None, "")).names
        what.append(f"{names} {'is' if len(telling) == 1 else 'are'} known when a class is to be predicted")
    settings = Spelled("features and mended(X) assume", "The last line assumes")
    read, them = Spelled("read", "reads"), Spelled("them", "it")
    return Message(said, settings=settings, what=" and that ".join(what), read=read, them=them) if what else None


def without(frame: pd.DataFrame, marks: Collection[str], typed: bool = False) -> pd.DataFrame:
    """Read ``marks`` as missing, as ``--na`` does, and convert text columns whose remaining cells are numbers."""
    if not marks:
        return frame
    # Numbers with a decimal comma become numeric only if ``typed`` is true, as for a CSV file.
    found = {}
    for name, cells in frame.items():
        own = marks_in(str(name), marks, frame.columns)
        if isinstance(cells.dtype, pd.CategoricalDtype):
            cells = cells.astype(object)
        if types.is_bool_dtype(cells):
            found[name] = cells
        elif types.is_numeric_dtype(cells):
            found[name] = cells.mask(cells.isin([float(mark) for mark in own if re.fullmatch(NUMBER, mark)]))
        else:
            held = cells.mask(cells.astype(str).str.strip().isin(spelled(own)))
            texts = held.dropna().astype(str).str.strip()
            read = len(texts) < cells.notna().sum() and len(texts) and texts.str.fullmatch(NUMBER).all()
            plain = not typed or read or len(texts) == cells.notna().sum()
            numbers, odd = ([], []) if plain else readings.numbers_among(texts.unique())
            if len(numbers) == 1 and not (odd or numbers[0].unit):
                held = pd.Series(numbers[0].read(Column(name, held))[name], held.index)
            found[name] = pd.to_numeric(held) if read else held
    return pd.DataFrame(found, index=frame.index)


def _column(values: pd.Series, labels: pd.Series | None, amount: bool) -> Iterator[Remark]:
    name, held = values.name, values.dropna()
    if held.empty:
        yield Remark(name, "no row has a value", drop=True)
        return
    levels = _counted(held)
    if len(levels) == 1:
        yield Remark(name, f"constant: every value is {_short(levels.index[0])}", drop=len(values) > 1)
        return
    if types.is_bool_dtype(held):
        return
    labels = None if labels is None else labels[values.notna()]
    if types.is_numeric_dtype(held):
        yield from _numbers(name, held.astype(float), levels, labels, amount)
    else:
        yield from _texts(name, held.astype(str), levels, labels, getattr(held.dtype, "ordered", False))


def _counted(held: pd.Series) -> pd.Series:
    levels = held.value_counts()
    return levels[levels > 0]  # A categorical type has further levels, which other rows may hold.


def preferred(values: pd.Series, labels: pd.Series) -> Cure | None:
    """The family that :func:`inspect` prefers to a Gaussian for a column of numbers; ``None`` if it proposes none."""
    found = (r for r in _column(values, labels, False) if r.cures and not (r.asks or r.drop))
    return next((remark.cures[0] for remark in found), None)


def _texts(
    name: Any, held: pd.Series, levels: pd.Series, labels: pd.Series | None, ordered: bool = False
) -> Iterator[Remark]:
    n, k, once = len(held), len(levels), int((levels == 1).sum())
    texts = held.str.strip()
    if ordered and k > 2:
        yield Remark.of_family(name, "Ordinal", "ordered answers, as their type says: {cure}")
        return
    if (order := _order(levels.index)) is not None:
        yield Remark.of_family(name, ("Ordinal", tuple(order)), "ordered answers: {cure}")
        return
    if n >= 10 * k and (order := _numbered(levels.index)):
        # Numbers among the cells of no numeric type are in order.
        family = ("Ordinal", tuple(order)) if isinstance(order[0], str) else "Ordinal"
        said = "levels from {low!r} to {high!r}. If they are steps of a scale: {cure}"
        yield Remark.of_family(name, family, said, asks=True, low=order[0], high=order[-1])
        return
    if k >= MANY_LEVELS and _are_ranges(levels.index):
        said = f"ranges, such as {min(texts)!r}, read as {k:,} levels without an order: replace each by its middle"
        yield Remark(name, said, True)
        return
    if (written := _as_text(held, levels)) is not None:
        yield written
        return
    if k >= MANY_LEVELS and (pairs := texts.str.fullmatch(PAIR)).mean() > 0.9:
        said = (
            f"two numbers in one cell, such as {min(texts[pairs])!r}, read as {k:,} levels: split the column into two"
        )
        yield Remark(name, said, True, warned.looks_like_identifier(k, n) or once > 0.5 * n)
        return
    joined, sentences = _spelled(name, levels), readings.are_sentences(levels.index, n)
    if sentences or (k >= MANY_LEVELS and readings.are_sentences(levels.index)):
        bag = Cure("features", "Text", name)
        codes = Cure("features", "Categorical", name) if joined is None else joined.cures[0]
        text = "sentences, read as a bag of words: {words}; as levels: {levels}"
        text = text if sentences else "texts of several words, read as levels: {levels}; as a bag of words: {words}"
        said = Message(text, words=bag, levels=codes)
        better = sentences or labels is None or improving.better_as_words(held, labels, -3.0)
        yield Remark(name, said, not sentences, cures=(bag, codes), asks=not better)
        return
    if joined is not None:
        yield joined
    key, bag = warned.looks_like_identifier(k, n), Cure("features", "Text", name)
    of_key = warned.named_as_key(name) and n < 10 * k
    if not key and (k < MANY_LEVELS or (once < k / 2 and not of_key)):
        return
    said = "{k} levels, {once} of them seen once"
    if of_key:
        said += ". If they identify what the rows are about, and new rows may be about others: {leave}"
    if key:
        said = "looks like an identifier or free text: {k:,} levels in {n:,} rows"
    words = texts.str.contains(rf"\w[\w{readings.marks()}]").any()
    if several := words and texts.str.count(" ").gt(0).mean() > 0.5:
        said += ". If they are texts of several words: {words}"
    better = several and improving.better_as_words(held, labels)
    if better:
        said = "{k:,} texts of several words, which predict better as a bag of words than as levels: {words}"
    drop = not better and (key or once > 0.5 * n)
    if (drop or of_key) and k < 0.95 * n:
        said += ". If rows of one level are about one case, score by folds that keep them together"
    message = Message(said, k=k, n=n, once=once, words=bag, leave=Cure("drop", column=name))
    yield Remark(name, message, key or once > 0.1 * n, drop, cures=(bag,), asks=not better)


MANY_LEVELS = 20
"""A column with at least this number of levels may need another family."""


def _as_text(held: pd.Series, levels: pd.Series) -> Remark | None:
    """A remark about a column of numbers stored as text, perhaps with a few cells that are no numbers."""
    name, k, texts = held.name, len(levels), held.str.strip()
    # Codes such as 000123 stay text, although each of them parses as a number.
    # Few levels such as 19,25 and 38,5 are numbers; 1,2 and 1,3 may be two choices each.
    commas = k > 2 and texts.str.fullmatch(r"\d{2,}(,\d{1,2})?").all() and texts.str.contains(",").any()
    numeric = (k > 10 or commas) and not texts.str.match(r"0\d").any()
    numbers, odd = readings.numbers_among(levels.index) if numeric else ([], [])
    if (odd or numbers) and (texts.isin([*map(str.strip, odd)]).mean() < 0.2 or readings.no_numbers_in(levels.index)):
        cures = () if odd else tuple(Cure("features", each.spelled, name) for each in numbers)
        odd = sorted(odd, key=lambda text: (-levels[text], text))
        if odd:
            plain = texts[~texts.isin([*map(str.strip, odd)])].map(amounts.is_float).all()
            said = all_but("numbers", name, odd, plain)
        else:
            text = "text" if len(cures) == 1 else "text with an unknown decimal mark"
            said = Message(
                "numbers written as {text}, such as {value!r}, read as levels: {cures}",
                text=text, value=min(map(str, levels.index)), cures=cures,
            )  # fmt: skip
        asks = bool(odd) or len(cures) > 1 or not readings.written_as_text(levels.index)
        option = ("--na", f"{name}={odd[0]}") if len(odd) == 1 else ()
        decimal = "?" * (len(cures) == 2)
        return Remark(name, said, True, option=option, cures=cures, asks=asks, decimal=decimal)
    return None


def _spelled(name: Any, levels: pd.Series) -> Remark | None:
    counts = {str(level): int(n) for level, n in levels.items()}
    groups, slips = readings.spellings(counts), readings.slips_in(counts)
    most = {level: readings.most_frequent(own, counts) for level, own in groups.items()}
    groups = {most[level]: own for level, own in groups.items()}
    others = {level: [text for text in own if text != level] for level, own in groups.items() if len(own) > 1}
    folded = bool(others)
    named = {level: best for level, best in most.items() if level != best}
    if not others and not slips:
        return None
    kept = {text: level for level, own in groups.items() for text in own}
    for slip, level in slips.items():
        others.setdefault(kept[level], []).append(slip)
    alike = [f"{', '.join(map(_short, own))} for {_short(level)}" for level, own in others.items()]
    further = len(alike) - 3
    more = f", and of {further} more level{'s' * (further > 1)}" if further > 0 else ""
    order = _order({*most.values()} - {*slips}) or ()
    said = ("ordered answers" if order else "levels") + " in several spellings, {alike}: {cure}"
    joined = readings.Joined(slips if order else named | slips, order)
    # Only these pairs are named, which looks as if other spellings stayed apart.
    said += " (levels that differ only by capitals and spaces are joined, too)" * bool(folded and joined.pairs)
    return Remark.of_family(name, joined.spelled, said, True, alike=", ".join(alike[:3]) + more)


def _are_ranges(levels: pd.Index) -> bool:
    """Whether at least 90 % of the levels are ranges: two numbers, the second larger, by a factor of at most ten."""
    # In codes with a hyphen, such as telephone numbers, the second number is often the smaller one, or far larger.
    ends = levels.astype(str).to_series().str.extract(f"^{RANGE}$").replace(",", ".", regex=True).astype(float)
    return bool(((ends[0] < ends[1]) & (ends[1] <= 10 * ends[0].clip(lower=1))).mean() >= 0.9)


def _order(levels: Iterable[Any]) -> list[str] | None:
    levels = [*levels]
    held = {readings.folded(re.sub("[_-]+", " ", str(level))): str(level) for level in levels}
    # If some levels are spellings of one answer, they are to be joined first.
    if not len(held) == len(levels) > 2 or held.keys() <= {*MIDDLE.split("|")}:
        return None
    # Degrees of one word, whatever the word is, are a scale, too, such as "not confident" to "very confident".
    words = {answer[found.end() if (found := DEGREE.match(answer)) else 0 :] for answer in held}
    own = [_between(f"//{words.pop()}/")] if len(words) == 1 else []
    scale = next((scale for scale in [*SCALES, *own] if held.keys() <= {*scale}), None)
    return None if scale is None else [held[a] for a in dict.fromkeys(scale) if a in held]


DEGREE = re.compile(f"({'|'.join(sorted(f'{NEGATIONS}|{DEGREES}'.split('|'), key=len, reverse=True))}) (?=.)")
"""Pattern of a degree at the start of an answer."""


def _numbered(levels: Iterable[Any]) -> list[Any]:
    """The levels in order, if they may be steps of a scale, such as Q1 to Q5, letters from A, or ranges; otherwise
    ``[]``.
    """
    parts = {level: re.fullmatch(r"(\D*)(\d{1,2})", str(level)) for level in levels}
    held, letters = [*parts], "".join(sorted(map(str, parts)))
    # More than 12 levels are probably places or products.
    if not 2 < len(held) <= 12:
        return []
    if letters in ("ABCDF", ascii_uppercase[: len(held)]):
        return sorted(held, key=str)
    bands = [BAND.fullmatch(str(level)) for level in held]
    places = {
        (float(band[3]), bool(band[2]) - bool(band[1])): level for band, level in zip(bands, held, strict=True) if band
    }
    if len(places) == len(held) and sum(bool(band and band[4]) for band in bands) > 1:
        return [places[place] for place in sorted(places)]
    found = sorted((int(part[2]), part[1], k) for k, part in enumerate(parts.values()) if part)
    alike = len({(start, isinstance(held[k], str)) for _, start, k in found}) == 1 and len(found) == len(held)
    return [held[k] for *_, k in found] if alike and found[-1][0] - found[0][0] == len(held) - 1 else []


BAND = re.compile(
    r"(<=?|≤|under |below |up to |unter |bis )?(>=?|≥|over |above |über )?\s*(\d+)(\s*(?:-|–|to|bis)\s*\d+)?\s*"
    r"(?:\+|or more|or older)?(?: ?[^\W\d]+)?"
)
"""Pattern of a range of numbers, such as "18-25", "<18" and "66+"."""

OTHER_KINDS = {"codes": "Categorical", "steps of a scale": "Ordinal"}
"""Families of whole numbers that are not counts, by kind."""

SCALE = 10
"""The largest difference between the ends of a scale, such as 0 to 10."""


def _numbers(name: Any, held: pd.Series, levels: pd.Series, labels: pd.Series | None, amount: bool) -> Iterator[Remark]:
    n, k = len(held), len(levels)
    whole = bool((held % 1 == 0).all())
    low, high = held.min(), held.max()
    if whole and n > 10 and k == n:
        if high - low == n - 1 and low in (0, 1):
            yield Remark(name, "counts the rows", True, True, asks=True)
            return
        if high - low == n - 1 or warned.named_as_key(name):
            yield Remark(name, "looks like an identifier: no value occurs twice", True, True, asks=True)
            return
    # Weights of rows are often divided by their mean, or they count people and have many decimals.
    weights = WEIGHTS.search(str(name))
    of_rows = weights is not None and not whole and low > 0
    relative = bool(of_rows and k > 20 and 0.5 < held.mean() < 2)
    people = of_rows and 2 * k > n and re.search(f"({WEIGHTS.pattern})$", str(name), re.IGNORECASE)
    people = people and (np.abs(held * 100 - (held * 100).round()) > 1e-6).mean() > 0.5
    use = Spelled("pass it as sample_weight", f"--weight {shlex.quote(str(name))}")
    if n >= 100 and (relative or people):
        said = "{k:,} different numbers around {mean:.2g} in {n:,} rows: a weight of the row? If so, "
        said += "" if relative else "{leave}, or "
        said += "{use}; rescale weights of a survey before, by nb.model.reliability_weights"
        message = Message(said, k=k, mean=held.mean(), n=n, leave=Cure("drop", column=name), use=use)
        yield Remark(name, message, drop=relative, asks=True)
    elif n >= 100 and whole and warned.named_as_key(name) and 2 * k > n:
        said = "{k:,} different whole numbers in {n:,} rows: if it is an identifier, {leave}"
        yield Remark(name, Message(said, k=k, n=n, leave=Cure("drop", column=name)), asks=True)
    elif n >= 100 and whole and weights and low > 0 and 2 * k > n and not WEIGHED.search(str(name)):
        said = "{k:,} different whole numbers in {n:,} rows: if a number is how many cases its row stands for, {use}"
        yield Remark(name, Message(said, k=k, n=n, use=use), asks=True)
    elif not amount and (question := _distinct(name, levels, n)) is not None:
        yield Remark(name, question, asks=True)
    for value in SENTINELS:
        if value not in levels:
            continue
        share = float((held == value).mean())
        others = held[held != value]
        # One or two such cells may be typing errors.
        if others.empty or (share <= 0.01 and levels[value] < 3):
            continue
        far = value in (low, high) and bool(abs(value) > 3 * others.abs().max())
        # An age column may also reach 99, but the counts decrease gradually towards it.
        near = levels.drop(value).sort_index(key=lambda other: abs(other - value))[:10]
        if far or (share > 0.01 and k > 20 and levels[value] > 3 * near.max()):
            said = "{share} are {value}{more}: if it means missing, {na}"
            said = Message(said, share=_percent(share), value=value, na=missing_in(name, value, False),
                           more=", far more than any value near it" * (not far))  # fmt: skip
            # The last of many neighbouring values may be a top code, such as "99 or older".
            inner = others[(others < value) == (value > others.median())]
            alone = inner[(inner - value).abs() <= 5].nunique() < 3
            yield Remark(name, said, far, option=("--na", f"{name}={value}") if far or alone else None)
        if far:
            return
    below, others = held[held < 0], held[held >= 0]
    if len(below) > 1 and below.nunique() == 1 and k > 20 and (value := float(below.iloc[0])).is_integer():
        near = levels.drop(value).sort_index(key=lambda other: abs(other - value))[:10]
        # Beside whole numbers, a few such cells may be ordinary values, such as degrees, unless no small number occurs.
        if not (others % 1 == 0).all() or levels[value] > 3 * near.max() or _zeros_apart(others, least=5):
            said = "{share} are {value:.0f}, and all other numbers are 0 or more: if it means missing, {na}"
            na = missing_in(name, int(value), False)
            said = Message(said, share=_percent(len(below) / n), value=value, na=na)
            yield Remark(name, said, True, option=("--na", f"{name}={value:.0f}"))
            return
    every, of_every, far, zeros = held, labels, False, _zeros_apart(held)
    while (apart := _apart(held[held != 0] if zeros else held)) is not None:
        said, errors = apart
        yield Remark(name, said, True, asks=True, far=True)
        if not len(errors):
            return
        far, right = True, ~held.isin(errors)
        held, labels = held[right], None if labels is None else labels[right]
    found = _family(name, held, labels) if not zeros else [_of_zeros(name, held, labels)]
    for remark in found:
        # A family for the other cells must also read the errors, which stay in the table until they are corrected.
        if far and not (remark.cures and improving.as_good_as_gaussian(parsed(remark.families[0]), every, of_every)):
            later = "once the far numbers are corrected: " * bool(remark.cures)
            remark = replace(remark, said=Message(later + remark.said.text, **remark.said.data), asks=True)
        yield remark


def far_from_others(values: pd.Series) -> Message | None:
    """A sentence about numbers far from all others; ``None`` if there are none."""
    held = values.dropna()
    apart = _apart(held[held != 0] if _zeros_apart(held) else held)
    return apart and Message("Column {column!r}: {said}", column=values.name, said=apart[0])


def _zeros_apart(held: pd.Series, least: float = 0.0) -> bool:
    """Whether all nonzero numbers have the same sign and lie far from 0."""
    held = -held if held.max() <= 0 else held
    above = held[held > 0]
    apart = held.min() >= 0 and len(held) >= FEWEST_CELLS and above.nunique() >= 20
    return bool(apart and (least or len(above) < len(held)) and above.min() > max(least, 0.2 * above.quantile(0.99)))


def _of_zeros(name: Any, held: pd.Series, labels: pd.Series | None) -> Remark:
    share, sign = float((held == 0).mean()), 1 if held.max() > 0 else -1
    above = sign * held[held != 0]
    # Nothing is as far from the others as such a 0, which is no amount, unless it is frequent. No amounts are as narrow
    # as years and coordinates, whose 0 is far outside.
    wide = np.ptp(above[above <= above.quantile(0.99)])
    missing = bool(above.min() > 3 * wide or (above.min() > wide and share < 0.1))
    said = "{share} are 0, and the " + ("smallest" if sign > 0 else "largest") + " other value is {least:g}: "
    said += "if 0 means missing, {na}"
    no_amount = missing or sign < 0 or improving.hurdle_is_worse(held, labels)
    cures = () if no_amount else (Cure("features", "Hurdle", name),)
    said += "; if it is an amount, {cure}" * bool(cures)
    shown = dict(zip(["cure"], cures, strict=False))
    message = Message(said, share=_percent(share), least=sign * above.min(), na=missing_in(name, 0, False), **shown)
    return Remark(name, message, missing, option=("--na", f"{name}=0") if missing else (), cures=cures, mark="0")


def _alike_in_zeros(frame: pd.DataFrame, remarks: Sequence[Remark]) -> list[Remark]:
    """Interpret 0 alike in columns that are 0 in the same rows, such as coordinates."""
    found, groups = list(remarks), dict[bytes, list[Any]]()
    for name in frame.select_dtypes("number"):
        if (zeros := (frame[name] == 0).to_numpy(bool, na_value=False)).sum() >= 3 and frame[name].nunique() > 20:
            groups.setdefault(zeros.tobytes(), []).append(name)
    for names in groups.values():
        told = {remark.column: remark for remark in found if remark.mark == "0" and remark.column in names}
        missing = [name for name in names if name in told and told[name].option]
        # A column without a remark holds numbers of both signs, or other numbers near 0, so a 0 is no amount.
        if len(told) == len(names) > 0 == len(missing) or not told:
            continue
        for name in names:
            if name in missing:
                continue
            other = min(missing or [one for one in names if one != name], key=str)
            said = Message(
                "{share} are 0, in the same rows as column {other!r}: if 0 means missing, {na}",
                share=_percent(float((frame[name] == 0).mean())), other=other, na=missing_in(name, 0, False),
            )  # fmt: skip
            own, option = told.get(name), ("--na", f"{name}=0") if missing else ()
            said = said if own is None or own.cures else own.said
            found = [remark for remark in found if remark is not own]
            found.append(Remark(name, said, bool(missing), option=option, asks=not missing, mark="0"))
    return found


def _family(name: Any, held: pd.Series, labels: pd.Series | None) -> Iterator[Remark]:
    n, k, low, high = len(held), held.nunique(), held.min(), held.max()
    whole, zeros = bool((held % 1 == 0).all()), float((held == 0).mean())
    short = whole and 2 < k <= high - low + 1 <= SCALE + 1 and n >= 10 * k
    if short and (order := improving.best_in_order(held, labels)):
        said = "whole numbers from {low} to {high}, which predict best as ordered answers: {cure}. Any other number "
        said += "in new rows counts as missing, so add numbers that may still come; MAP does not exist then"
        yield Remark.of_family(name, ("Ordinal", order), said, low=order[0], high=order[-1])
        return
    few, counted = k <= 12 and n >= 10 * k, 0 <= low <= 3 and high <= 60 and held.var() <= 5 * max(held.mean(), 1)
    if whole and 2 < k <= 40 and (few or counted):
        scale = ["Ordinal"] if few and high - low == k - 1 else []
        # With enough rows, a categorical family fits counts and codes alike.
        gains = improving.gains_of(held, labels, counted, ["Categorical", *scale])
        kinds = {kind: family for kind, family in OTHER_KINDS.items() if family in gains.over_gaussian}
        kinds = ({"counts": gains.counted} if counted else {}) | kinds
        # Counts can be larger than those learned, and levels cannot.
        open_ended = counted and not gains.over_counts and (
            gains.over_gaussian[gains.counted] > 0 or improving.more_probable_as_counts(held, labels)
        )  # fmt: skip
        best = sorted(kinds, key=lambda kind: (-gains.over_gaussian[kinds[kind]], few and kind != "codes"))
        best = sorted(best, key=lambda kind: not open_ended or kind != "counts")
        family = kinds[best[0]]
        gain = gains.over_gaussian[family]
        # A categorical family ignores the order of levels, which matters more if there are many levels.
        if gains.compared and (gain < 0 or (gain == 0 and k > 5)):
            return
        cures = {kind: Cure("features", family, name) for kind, family in kinds.items()}
        text = "whole numbers from {low:g} to {high:g}" if counted else "{k} different whole numbers"
        text += "".join(f". If they are {kind}: {{{kind}}}" for kind in kinds)
        asks = gain == 0 and k > 5 and labels is not None
        if gain > 0 and family not in gains.informative:
            text += f". They predict better as {best[0]} than as a number, but {NEITHER}"
        elif not asks:
            clear = gain == max(gains.over_gaussian.values()) > 0
            clear = clear and (open_ended or not counted or family in gains.over_counts)
            text += f". {'They predict best as' if clear else 'Recommended unless you know better:'} {best[0]}"
        said = Message(text, **({"low": low, "high": high} if counted else {"k": k}), **cures)
        yield Remark(name, said, cures=tuple(cures[kind] for kind in best), asks=asks)
    elif whole and 12 < k <= MOST_STEPS and n >= 10 * k and improving.better_as_codes(held, labels):
        said = "{k} different whole numbers, which predict better as codes than as numbers: {cure}"
        yield Remark.of_family(name, "Categorical", said, k=k)
    elif whole and 0 <= low <= 3 and k > 10 and (found := _as_counts(name, held, labels)):
        yield found
    elif k > 10 and low == 0 and (zeros > 0.1 or held.skew() > SKEWED) and not improving.hurdle_is_worse(held, labels):
        said = "{share} are 0, the others positive: {cure}" + FRACTIONS * whole
        yield Remark.of_family(name, "Hurdle", said, share=_percent(zeros))
    elif k > 10 and low > 0 and held.skew() > SKEWED:
        quartiles = held.quantile([0.25, 0.5, 0.75]).drop_duplicates()
        numbers = [float(f"{edge:.3g}") for edge in quartiles]
        edges = tuple(int(edge) if edge.is_integer() else edge for edge in numbers)
        normal, cut = (Cure("features", family, name) for family in ("LogNormal", ("Binned", edges)))
        said = Message("skewed and all positive: {normal}, or {cut}", normal=normal, cut=cut)
        yield Remark(name, said, cures=(normal, cut))
    elif k > 10 and held.skew() < -SKEWED / 2 and improving.better_as(PolyaTree(), held, labels):
        said = "skewed, with a long tail of low numbers; a histogram of any shape predicts better: {cure}"
        yield Remark.of_family(name, "PolyaTree", said)
    elif k > 10 and low > 0 and held.skew() > SKEWED / 2 and improving.better_as(LogNormal(), held, labels):
        yield Remark.of_family(name, "LogNormal", "skewed and all positive, and predicts better as log-normal: {cure}")
    elif 2 < k <= MOST_STEPS and n >= 3 * k and (unit := improving.better_rounded(held, labels)):
        said = "multiples of {unit}, which predict better as intervals of this length than as exact numbers: {cure}"
        spelled = Spelled(f"nb.families.Rounded(unit={unit:.9g})", f"rounded:{unit:.9g}")
        yield Remark.of_family(name, spelled, said, unit=f"{unit:.9g}")


FRACTIONS = ". Rows sampled from the model then hold fractions in this column: round them"

NEITHER = "neither predicts clearly better than the class frequencies"


def _as_counts(name: Any, held: pd.Series, labels: pd.Series | None) -> Remark | None:
    gains = improving.gains_of(held, labels, True)
    family = gains.counted
    if gains.over_gaussian[family] <= 0:
        return None
    said = "whole numbers from {low:g} to {high:g}, which predict better as counts: {cure}"
    kind = family if isinstance(family, str) else family[0]
    if kind == "Hurdle":
        said = "{share} are 0, the others positive: {cure}" + FRACTIONS * (family == "Hurdle")
    elif kind == "Binned":
        said = "whole numbers from {low:g} to {high:g}, which predict better as intervals: {cure}"
    said += "" if family in gains.informative else f". It predicts better than a Gaussian, but {NEITHER}"
    share = _percent(float((held == 0).mean()))
    return Remark.of_family(name, family, said, low=held.min(), high=held.max(), share=share)


def _apart(held: pd.Series) -> tuple[str, Array] | None:
    """A sentence about numbers far from all others, and the numbers among them that may be typing errors."""
    # Another unit multiplies numbers that are not negative, so their logs are compared, without zeros.
    # Of about 30,500 columns of 3,620 public tables, 52 have up to four such cells, and most of these are errors. Of
    # 12,700 columns, 7 have more; at least 3 of these columns hold errors.
    finite = np.sort(held[np.isfinite(held)])
    sign = -1 if finite.max(initial=-1.0) <= 0 else 1
    finite = np.sort(sign * finite)
    x = finite[(finite > 0) | (finite.min(initial=0.0) < 0)]
    if len(x) < FEWEST_CELLS:
        return None
    place = np.log(x) if x[0] > 0 else x
    k = int(np.diff(place).argmax()) + 1
    far, others = sorted((x[:k], x[k:]), key=len)
    wide = place[k] - place[k - 1] > 2 * max(np.ptp(place[:k]), np.ptp(place[k:]))
    if not wide or (x[0] < 0 and _chance_of_gap(*((x, k) if k > len(x) / 2 else (-x[::-1], len(x) - k))) > UNUSUAL):
        others, far = _without_tail(finite)
        if not len(far):
            others, far = _without_group(finite)
    others, far = (np.sort(sign * each) for each in (others, far))
    between = f"({others[0]:g} to {others[-1]:g})"
    one_or_two = len(np.unique(far)) <= 2
    if 5 <= len(far) <= 0.2 * len(held) and not one_or_two:
        share = f"{_percent(len(far) / len(held))} of the cells ({far[0]:g} to {far[-1]:g})"
        return f"{share} lie far from the others {between}; they may be in another unit, or typing errors", far[:0]
    if 0 < len(far) <= 0.2 * len(held) and (len(far) < 5 or one_or_two) and len(np.unique(others)) >= 10:
        values = ", ".join(f"{value:g}" for value in np.unique(far))
        one = len(np.unique(far)) == 1
        maybe = "it may be a typing error" if one else "they may be typing errors"
        if len(far) >= 5:
            values += f" (in {len(far):,} cells)"
            maybe += ", or mean that the value is missing"
        return f"{values} {'lies' if one else 'lie'} far from the other cells {between}; {maybe}", far
    return None


def _without_tail(x: Array) -> tuple[Array, Array]:
    """Split sorted numbers into usual numbers, and at most eight at one end that are too far even for a heavy tail."""
    most = min(max(len(x) // 100, 4), 8)
    for end, at in ((x, slice(None)), (-x[::-1], slice(None, None, -1))):
        # A heavy tail at the other end may have a counterpart.
        middle, low = np.median(end), end[0]
        places = (k for k in range(len(x) - most, len(x)) if end[k] - middle > 3 * (middle - low))
        if (k := next((k for k in places if _chance_of_gap(end, k) < RARE), None)) is not None:
            mask = (np.arange(len(x)) < k)[at]
            return x[mask], x[~mask]
    return x, x[:0]


def _chance_of_gap(x: Array, k: int) -> float:
    """The probability that the tail of sorted numbers x has, somewhere, a gap as large as x[k] - x[k - 1]."""
    # Excesses e over a threshold follow a generalized Pareto distribution (Pickands 1975) if ln(1 + c e) / c is
    # exponential: c is negative in a tail with an end, 0 in an exponential tail, and large in a heavy tail (Hill 1975).
    # The grid of c has likelihood weights, and the scale is integrated out. The tail holds at least ten different
    # numbers below the gap, and the numbers above count as censored there. Rounding may end a tail, so a gap is also
    # compared with the tail.
    far, below = len(x) - k, x[:k]
    values = np.unique(below)
    m = max(int(2 * np.sqrt(k)), int((below >= values[-10:][0]).sum()))
    if len(values) <= 10 or m >= k:
        return 1.0
    excess = below[-m:] - below[-m - 1]
    if x[k] - x[k - 1] < excess[-1]:
        return 1.0
    ended, heavy = np.array([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98]), np.logspace(-1, 2, 13)
    c = np.r_[-ended / excess[-1], np.full(6, 1e-6) / excess.mean(), heavy / excess.mean()]
    logs = np.log1p(c[:, None] * excess)
    total = logs.sum(axis=1) + far * logs[:, -1]
    fit = m * np.log(np.abs(c / total)) - logs.sum(axis=1)
    with np.errstate(all="ignore"):
        gap = np.log1p(c * (x[k] - below[-m - 1])) - logs[:, -1]
        chance = np.nan_to_num((1 + far * gap / total) ** -m)  # 0 beyond the end.
    return float(np.average(chance, weights=np.exp(fit - fit.max())))


RARE = 6e-4
"""A gap with a smaller probability does not belong to a tail."""

UNUSUAL = 5e-3
"""The limit of the probability of a gap that exceeds twice the range of the numbers on either side."""


def _without_group(x: Array) -> tuple[Array, Array]:
    """Split sorted, skewed numbers into numbers that are not skewed and, if possible, a distant group at one end."""
    skew, most = pd.Series(x).skew(), len(x) // 5
    for place in (x, np.log(x)) if x[0] > 0 else (x,) if x[0] == 0 else ():
        gaps = np.diff(place)
        k = 5 + int(gaps[4:most].argmax()) if skew < 0 else len(x) - most + int(gaps[-most:-4].argmax())
        others, far = (slice(k, None), slice(k)) if skew < 0 else (slice(k), slice(k, None))
        apart = 2 * gaps[k - 1] > np.ptp(place[others])
        apart = apart and _chance_of_gap(*((x, k) if skew > 0 else (-x[::-1], len(x) - k))) < RARE / most
        if apart and abs(skew) > SKEWED >= 2 * abs(pd.Series(x[others]).skew()):
            return x[others], x[far]
    return x, x[:0]


SKEWED = 2
"""Skewness above which a column needs another family than a Gaussian."""

FEWEST_CELLS = 25
"""Fewest numbers in a column whose far numbers are reported."""


def _distinct(name: Any, levels: pd.Series, n: int) -> Message | None:
    # Measurements in the range of the numbers would be equal in at least as many pairs of rows as uniform numbers.
    # In 2,347 public tables, 30 columns without equal cells are identifiers, 15 are times and one is a measurement.
    x, k = np.sort(levels.index.to_numpy(float)), len(levels)
    if np.abs(x).max() >= 2**53 or (x % 1).any():
        return None
    x /= np.gcd.reduce(x.astype(np.int64))
    pairs = n * (n - 1) / 2 / (x[-1] - x[0] + 1)
    low, high = (len(f"{end:.0f}") for end in (x[0], x[-1]))
    even = np.abs(np.arange(k) / (k - 1) - (x - x[0]) / (x[-1] - x[0])).max() < 0.1
    if k == n and pairs > 20:
        said = "no two of {n:,} whole numbers are equal, as in an identifier or an order in time"
    elif n >= 100 and k > 0.8 * n and pairs < 0.02 * n and even and x[0] >= 1e4 and low == high:
        said = "{k:,} different whole numbers of {digits} digits in {n:,} rows, spread evenly"
        said += ", and rows with the same number may depend on each other" * (k < n)
    else:
        return None
    said += ": if it is an identifier, {drop}"
    return Message(said, k=k, digits=low, n=n, drop=Cure("drop", column=name))


MOST_STEPS = 60
"""Largest number of distinct values in a column tried as rounded numbers, or as codes."""


def _of_reading(layouts: Sequence[CsvLayout], rows: int) -> Iterator[Remark]:
    gaps: dict[str, Counter[str]] = {}
    for name, texts in (each for layout in layouts for each in layout.gaps.items()):
        gaps.setdefault(name, Counter()).update(texts)
    yield from (Remark(name, _missing(marks, rows)) for name, marks in gaps.items())


def _missing(marks: Mapping[str, int], rows: int) -> str:
    shown = ", ".join(f"{_percent(n / max(rows, 1))} are {_short(mark)}" for mark, n in marks.items())
    return f"{shown}, read as missing"


def _same(frame: pd.DataFrame, target: Any) -> Iterator[Remark]:
    first: dict[bytes, Any] = {}
    labelled = target is not None and target in frame.columns
    for name in sorted(frame.columns, key=lambda name: name != target):
        codes, levels = pd.factorize(frame[name])
        if len(levels) < 2 or len(frame) < 10 or (len(levels) > 0.8 * len(frame) and name != target):
            continue
        earlier = first.setdefault(codes.tobytes(), name)
        if earlier is not name:
            same = f"the same as column {earlier!r}, so its evidence would count twice"
            # Without a target, either column may be the class.
            same += "" if labelled else ": leave one of them out, unless it is the class"
            yield Remark(name, TELLS_ALL if earlier == target else same, True, labelled)


def _nearly_same(numbers: Mapping[Any, pd.Series]) -> Iterator[Remark]:
    # For example, rounded amounts, or the same length in another unit. Missing values count as the mean.
    x = {name: cells.to_numpy(float, na_value=np.nan) for name, cells in numbers.items()}
    x = looked_at(pd.DataFrame(x), MOST_ROWS)
    close, ranked = (np.tril(_correlations(table), -1) for table in (x, x.rank()))
    for k, name in enumerate(x.columns):
        j, other = int(close[k].argmax()), int(ranked[k].argmax())
        said = "nearly a linear function of column {column!r}{but}, so its evidence counts twice unless dependence is "
        said += "learned"
        if close[k, j] > NEARLY:
            yield Remark(name, Message(said, column=x.columns[j], but=""))
        elif ranked[k, other] > 0.9 and (errors := _errors(x.iloc[:, other].to_numpy(), x.iloc[:, k].to_numpy())):
            but = f", except in {errors:,} row{'s' * (errors > 1)}"
            yield Remark(name, Message(said, column=x.columns[other], but=but))


NEARLY = 0.999
"""Least correlation of columns that are reported as nearly equal."""


def _correlations(x: pd.DataFrame) -> Array:
    away = (x - x.mean()).fillna(0.0).to_numpy()
    with np.errstate(all="ignore"):
        away = away / np.sqrt((away**2).sum(axis=0))
        return np.nan_to_num(np.abs(away.T @ away))


def _errors(x: Array, y: Array) -> int:
    """The number of outliers if x and y are nearly linear without at most 1 % of rows (plus one); otherwise 0."""
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < max(FEWEST_CELLS, len(x) / 2):
        return 0
    most = 1 + len(x[both]) // 100
    with np.errstate(all="ignore"):
        x, y = (_scaled(each[both]) for each in (x, y))
    if not np.abs([x, y]).max() < 1e100:  # NaN if half of the cells are equal.
        return 0
    # The first line is insensitive to errors. The next lines fit all rows but those farthest from the line.
    slope, start = np.sign(np.cov(pd.Series(x).rank(), pd.Series(y).rank())[0, 1]), 0.0
    for _ in range(3):
        away = np.abs(y - start - slope * x)
        kept = away <= np.sort(away)[-most - 1]
        slope, start = np.polyfit(x[kept], y[kept], 1)
    away = np.abs(y - start - slope * x)
    nearly = np.abs(np.corrcoef(x[kept], y[kept])[0, 1]) > NEARLY
    return int((away > 2 * away[kept].max() + 1e-9).sum()) if nearly else 0


def _scaled(x: Array) -> Array:
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    return (x - middle) / (high - low)


def _counts(frame: pd.DataFrame, target: Any) -> Iterator[Remark]:
    x = frame[[name for name in frame if name != target]]
    plain = all(types.is_numeric_dtype(kind) and not types.is_bool_dtype(kind) for kind in x.dtypes)
    cells = x.to_numpy(float, na_value=np.nan) if plain else np.zeros((0, 0))
    if not ((cells >= 0) & (cells <= 100) & (np.floor(cells) == cells)).all() or (cells > 1).any(axis=0).sum() < 10:
        return
    if (cells == 0).mean() > 0.5 and (target not in frame or improving.as_good_as_counts(x, frame[target])):
        said = "{k:,} columns hold whole numbers from 0 to {high:g}, {share} of them 0: if a row counts words, {cure}"
        command = "--feature counts=multinomial:COL,COL… with all these columns"
        said = Message(said, k=x.shape[1], high=cells.max(), share=_percent((cells == 0).mean()),
                       cure=Spelled("features=nb.Multinomial()", command))  # fmt: skip
        yield Remark(min(x.columns, key=str), said, asks=True)


def copies_in(frame: pd.DataFrame) -> Iterator[Remark]:
    """A remark about rows that repeat an earlier row, if there are more than chance explains."""
    copies, distinct = int((again := frame.duplicated()).sum()), frame[~again]
    # Columns may depend on each other in more ways than the chance of equal rows considers, so more than half of the
    # values of at least one column must be different.
    if not copies or 2 * int(distinct.nunique(dropna=False).max()) <= len(frame):
        return
    n, log_chance = len(distinct), warned.log_chance_of_equal_rows(looked_at(distinct, MOST_ROWS))
    if np.log(n * (n - 1) / 2) + log_chance < np.log(warned.BY_CHANCE * copies):
        said = f"{copies:,} row{'s repeat' if copies > 1 else ' repeats'} an earlier row in all columns"
        said += ": drop copies of the same case, because the copy of a row that is scored may have been learned"
        yield Remark(None, said, True)


def _cases(frame: pd.DataFrame, target: Any) -> Iterator[Remark]:
    """A question about whole numbers that may count the cases of each row, as in a table of counts."""
    # If n independent rows have m possible values, all of them are different with probability at most m! / (m-n)! m^n,
    # whatever the distribution of the rows is. This is small only if m < n^2, so only if few columns are not constant.
    n = len(frame)
    if n < 2 or frame.shape[1] > 2 + 2 * np.log2(n):
        return
    values = np.log(frame.apply(_possible))
    for name in frame:
        m, x = np.exp(min(values.drop(name).sum(), 100.0)), frame[name]
        improbable = n <= round(m) < n * n and np.log1p(-np.arange(n) / round(m)).sum() < np.log(0.001)
        numeric = types.is_numeric_dtype(x.dtype) and x.max() > 1
        if improbable and numeric and name != target and x.min() >= 0 and (x % 1 == 0).all():
            rows_numbered = x.is_unique and x.max() - x.min() == n - 1
            if not rows_numbered and not frame.drop(columns=name).duplicated().any():
                use = Spelled("pass it as sample_weight", f"--weight {shlex.quote(str(name))}")
                said = "no two rows are equal without it, as in a table of counts: if a number is how many cases its "
                yield Remark(name, Message(said + "row stands for, {use}", use=use), asks=True)


def _possible(cells: pd.Series) -> float:
    # The number of different values, also of those that no row has (Chao 1984).
    counts = cells.value_counts(dropna=False)
    once, twice = ((counts == times).sum() for times in (1, 2))
    return len(counts) + once * (once - 1) / (2 * (twice + 1))


def copies_by_weight(frame: pd.DataFrame, column: Any) -> Iterator[Remark]:
    """A remark about a column of weights that, as counts of equal rows, imply more equal rows than chance explains."""
    weight = pd.to_numeric(frame[column], errors="coerce").to_numpy(float, na_value=np.nan)
    if said := warned.copies_by_weight(Table.of(frame.drop(columns=column)), weight):
        yield Remark(column, said, True)


def _gaps_by_class(frame: pd.DataFrame, target: Any) -> Iterator[Remark]:
    # The log Bayes factor of one missingness probability per class against a common one, each with a uniform prior.
    from scipy.special import betaincinv, betaln

    rows = frame[frame[target].notna()]
    n = rows.groupby(target, observed=True).size()
    for name in frame.columns:
        if name == target or not (gaps := rows[name].isna()).any() or gaps.all():
            continue
        gone = gaps.groupby(rows[target], observed=True).sum()
        apart = betaln(1 + gone, 1 + n - gone).sum()
        if apart - betaln(1 + gone.sum(), 1 + (n - gone).sum()) > 5:
            share = gone / n
            if set(share) == {0.0, 1.0}:
                only = ", ".join(_short(label) for label in share.index[share == 1.0])
                yield Remark(name, f"missing exactly in the rows of class {only}: {UNLESS_KNOWN}", True, True)
                continue
            # The share of a class of one or two rows, such as a misspelt label, says little, so bounds are compared.
            upper, lower = (betaincinv(1 + gone, 1 + n - gone, p) for p in (0.95, 0.05))
            least, most = upper.idxmin(), lower.idxmax()
            said = f"missing in {_percent(share[least])} of the rows of class {_short(least)} and "
            said += f"{_percent(share[most])} of class {_short(most)}"
            if share[least] <= NEARLY_NONE and share[most] >= 1 - NEARLY_NONE:
                yield Remark(name, f"{said}, so its gaps nearly tell the class: {UNLESS_KNOWN}", True, True)
                continue
            text = "{shares}: if cells will be missing for the same reasons when a class is to be predicted, {cure}"
            yield Remark.of_family(name, "Missing", text, shares=said)


NEARLY_NONE = 0.02
"""Largest fraction of exceptions in columns that nearly determine the class."""


def _telling(frame: pd.DataFrame, target: Any) -> Iterator[Remark]:
    """Remarks about columns that alone predict the class of all, or of nearly all, rows."""
    rows = frame[frame[target].notna()]
    if (labels := few_classes(rows[target])) is None or (rare := len(rows) - labels.weights().max()) < FEWEST_RARE:
        return
    classes = pd.factorize(rows[target])[1]
    for name in rows.columns:
        codes, values = pd.factorize(rows[name], sort=(numbers := types.is_numeric_dtype(rows[name])))
        in_order = numbers and len(values) > MANY_LEVELS
        if name == target or len(values) < 2 or (len(rows) < 10 * len(values) and not in_order):
            continue
        counts = np.zeros((len(values) + 1, labels.n), int)  # The last row, of code -1, counts missing cells.
        np.add.at(counts, (codes, labels.codes), 1)
        wrong = len(rows) - counts.max(axis=1).sum()
        if in_order:
            # Numbers tell the class by intervals: between k classes are k - 1 ends. An error makes two more.
            ends = np.count_nonzero(np.diff(counts[:-1].argmax(axis=1)))
            wrong += max(ends - labels.n + 2, 0) // 2
        if wrong == 0 and not in_order:
            yield Remark(name, TELLS_ALL, True, True)
        elif wrong <= NEARLY_NONE * rare:
            but = f"all but {wrong:,} of {len(rows):,} rows" if wrong else "all rows"
            said = "predicts the class by itself in {but}: if it is not known when a class is to be predicted, {leave}"
            yield Remark(name, Message(said, but=but, leave=Cure("drop", column=name)), True, tells=True)
        elif not (numbers and len(values) > labels.n):
            shares = counts[:-1] / counts.sum(axis=0)
            shares[counts[:-1] < np.maximum(counts[:-1].sum(axis=1, keepdims=True), FEWEST_RARE)] = 0.0
            shares[:, 2 * counts.sum(axis=0) > len(rows)] = 0.0
            pure = max((shares[k, c], _short(classes[c]), _short(values[k])) for k, c in np.ndindex(shares.shape))
            if mostly := wrong <= MOSTLY * rare:
                said = f"predicts the class by itself in all but {wrong:,} of {len(rows):,} rows"
            elif pure[0] > 0.5:
                said = f"{pure[2]} occurs only in class {pure[1]}, in {_percent(pure[0])} of its rows"
            else:
                continue
            message = "{said}: is it known when a class is to be predicted? If not, {leave}"
            said = Message(message, said=said, leave=Cure("drop", column=name))
            yield Remark(name, said, mostly, asks=True, tells=True)
        elif (found := _beyond(counts, values)) is not None:
            c, odd, side, value = found
            said = "is {side} {value:.9g} only in class {label}, in all {but}rows: is it known when a class is to be "
            said += "predicted? If not, {leave}"
            but, leave = f"but {odd:,} of {len(rows):,} " if odd else "", Cure("drop", column=name)
            message = Message(said, side=side, value=value, label=_short(classes[c]), but=but, leave=leave)
            yield Remark(name, message, True, asks=True, tells=True)


def _beyond(counts: Array, values: Array) -> tuple[int, int, str, float] | None:
    """Find a class whose numbers lie above (or below) nearly all numbers of other classes, which are mostly equal."""
    # For example, the cost of a repair is 0 if there was no repair. ``counts`` (value, class) counts the rows with each
    # of the sorted ``values``; its last row counts the missing cells. The result is the class, the number of
    # exceptions, the side and the limit.
    size, below = counts.sum(axis=0), counts[:-1].cumsum(axis=0)
    others = below.sum(axis=1, keepdims=True) - below
    known = others[-1]
    # The exceptions if the limit lies between values k and k + 1, for a class above and for a class below the limit.
    odd = np.stack([below + known - others, size - below + others], axis=1)[:-1]
    usual = (counts[:-1].sum(axis=1, keepdims=True) - counts[:-1]).max(axis=0)
    odd[:, :, (2 * usual < known) | (size < FEWEST_RARE)] = len(values) + counts.sum()
    k, side, c = np.unravel_index(odd.argmin(), odd.shape)
    if odd[k, side, c] > NEARLY_NONE * size[c]:
        return None
    return int(c), int(odd[k, side, c]), ("above", "below")[side], float(values[k + side])


MOSTLY = 0.125
"""Largest ratio of errors to rows outside the largest class at which a column of levels is questioned."""

FEWEST_RARE = 20
"""Fewest rows outside the largest class in a test whether a column determines the class."""


MOST_ROWS = 5_000
"""Largest number of rows examined for rules about several columns."""


def _derived(
    numbers: Mapping[Any, pd.Series], dates: Mapping[Any, tuple[pd.Series, str]], labels: pd.Series
) -> Iterator[Remark]:
    frame = pd.DataFrame({**numbers, **{name: days for name, (days, _) in dates.items()}, labels.name: labels})
    frame = looked_at(frame[labels.notna()], MOST_ROWS)
    if (known := few_classes(frame.pop(labels.name))) is None:
        return
    for one in improving.derived({name: frame[name].to_numpy(float, na_value=np.nan) for name in frame}, known, dates):
        first, second = (dates[name][1] if name in dates else f"X[{name!r}]" for name in (one.first, one.second))
        paste = f"X[{str(one)!r}] = " + (f"np.log({first} / {second})" if one.ratio else f"{first} - {second}")
        said = Message(
            "{name} as a further column would raise the log score of naive Bayes by {gain:.0f} nats in {rows:,} rows: "
            "{cure}",
            name=str(one), gain=one.gain, rows=len(frame), cure=Spelled(paste, "add it to the table"),
        )  # fmt: skip
        yield Remark(one.first, said)


def _target(labels: pd.Series) -> Iterator[Remark]:
    counts = {} if types.is_numeric_dtype(labels) else dict(sorted(labels.map(str).value_counts().items()))
    yield from (Remark(labels.name, said, True) for said in warned.spelled_apart(counts))
    for slip, label in [*readings.slips_in(counts).items()][:3]:
        said = f"the class {_short(slip)} ({counts[slip]:,}) looks like {_short(label)} ({counts[label]:,})"
        yield Remark(labels.name, Message("{said}: correct it in {y}", said=said, y=warned.IN_CLASS), True)
    for mark in [label for label in counts if label.strip().lower() in BLANK_OR_MARK]:
        given = shlex.quote(f"{labels.name}={mark}")
        na = Spelled("write None there", f"--na {given}; if it is a class, --keep-na {given}, which ends this question")
        said = Message("the class {mark!r} ({n:,}): if it means missing, {na}", mark=mark, n=counts[mark], na=na)
        yield Remark(labels.name, said, True, mark=mark)
    k, n = labels.nunique(), len(labels)
    if k == 1:
        said = f"the target has one class, {_short(labels.iloc[0])}: there is nothing to tell apart"
        yield Remark(labels.name, said, True)
    elif looks_like_no_class(k, n):
        kind = "a number" if types.is_numeric_dtype(labels) else "an identifier"
        yield Remark(labels.name, f"the target has {k:,} classes in {n:,} rows, as if it were {kind}", True)


def _percent(share: float) -> str:
    return "under 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")


def _short(text: Any) -> str:
    shown = repr(text) if isinstance(text, str) else str(text).removesuffix(".0")
    return shown if len(shown) <= 30 else shown[:28] + "…'"
