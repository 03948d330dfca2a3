"""Parse numbers with thousands separators, units or bounds, such as "1,200 kg" and "<5"."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from math import isfinite, nan
from typing import Any, NamedTuple

GAPS = ("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "#n/a", "<na>")
"""Texts of missing values in columns of numbers or dates, in lower case and without surrounding spaces.

In a column of text, a marker such as "na" is an ordinary level, because it may have a meaning.
"""

MARKS = {
    "?", "-", "--", "—", "–", ".", "*", "na", "n/a", "n.a.", "n. a.", "nan", "null", "none", "unknown", "missing",
    "no data", "not done", "not available", "not applicable", "not recorded", "not reported", "not measured",
    "not tested", "(blank)", "#n/a", "#value!", "#ref!", "#div/0!", "#name?", "#num!", "k.a.", "k. a.",
    "keine angabe", "unbekannt", "nicht erhoben", "nicht bestimmt", "nicht gemessen", "(leer)", "n.b.", "n. b.",
    "inconnu", "non renseigné", "non disponible", "non connu", "(vide)", "desconocido", "sin dato", "sin datos",
    "no disponible", "no aplica", "sconosciuto", "non disponibile", "non noto", "onbekend", "niet bekend",
    "desconhecido", "não informado", "sem dados", "okänd", "ukjent", "ukendt", "brak danych", "нет данных",
    "неизвестно",
}  # fmt: skip
"""Texts that may be missing values, in lower case."""

SPACES = "\u00a0\u2007\u2009\u202f "
DIGITS = rf"(?:\d(?:[\d.,'’{SPACES}]*\d)?[.,]?|[.,]\d+)"
MINUS = "−–‐‑‒-"
MARKED = re.compile(
    rf"(?P<sign>[+{MINUS}]?)\s*(?P<before>(?:[^\d\s+.,{MINUS}]{{1,4}}\.?)?)\s*(?P<inner>[+{MINUS}]?)\s*"
    rf"(?P<digits>{DIGITS})(?P<last>(?:(?<=\d)[{MINUS}])?)(?P<space>\s*)(?P<after>[^\d\s.,{MINUS}](?:.{{0,18}}\S)?)?"
)
"""A number with a unit before or after it. The sign is in front of the number or of the unit, or a minus behind the
digits. The minus behind the mark of ``5,-`` is no sign."""

BRACKETED = re.compile(r"([^\d()]*)\(([^()]*\d[^()]*)\)([^\d()]*)")
"""A negative number as bookkeepers write it, such as (5.00), €(5.00) or (5.00 €)."""

WIDE = {0xFEE0 + point: point for point in range(0x21, 0x7F)}
"""The full-width forms of digits, signs and letters in Japanese and Chinese texts, and their usual forms."""

GROUP = rf"['’{SPACES}]"
FRACTIONS: Mapping[str, re.Pattern[str]] = {
    ".": re.compile(rf"(0|[1-9]\d*|[1-9]\d{{0,2}}(?:,\d{{3}})+|[1-9]\d{{0,2}}(?:{GROUP}\d{{3}})+)?(?:\.\d*)?"),
    ",": re.compile(rf"(0|[1-9]\d*|[1-9]\d{{0,2}}(?:\.\d{{3}})+|[1-9]\d{{0,2}}(?:{GROUP}\d{{3}})+)?(?:,\d*)?"),
}
"""Patterns of the digits of a number, by decimal mark. Codes with a leading zero, such as 007, do not match."""

OTHER = str.maketrans(".,", ",.")

CURRENCIES = {
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "BGN", "TRY",
    "RUB", "UAH", "BRL", "MXN", "ARS", "CLP", "COP", "CAD", "AUD", "NZD", "ZAR", "KRW", "SGD", "HKD", "TWD", "THB",
    "IDR", "MYR", "PHP", "VND", "ILS", "AED", "SAR", "EGP", "NGN", "KES", "RS", "RS.", "FR", "FR.", "KR", "KR.", "KČ",
    "ZŁ", "LEI", "FT", "SFR", "SFR.",
}  # fmt: skip
"""Codes and names of currencies, in capitals. Unicode's currency signs (category Sc) are also read as currencies."""

ONE_UNIT = {
    "EUR": "€", "EURO": "€", "EUROS": "€", "GBP": "£", "US$": "USD", "SFR": "CHF", "SFR.": "CHF",
}  # fmt: skip
"""The usual spelling of units, such as "€", by other spellings, such as "EURO"."""

UNITS = {
    "%", "‰", "°", "°C", "°F", "kg", "g", "mg", "µg", "μg", "ng", "lb", "lbs", "oz", "km", "m", "cm", "mm",
    "µm", "nm", "mi", "ft", "in", "yd", "l", "L", "ml", "mL", "dl", "dL", "cl", "h", "min", "s", "ms", "bar",
    "Pa", "hPa", "kPa", "MPa", "mV", "mA", "W", "kW", "MW", "Wh", "kWh", "kJ", "kcal", "cal", "Hz",
    "kHz", "MHz", "GHz", "kB", "KB", "MB", "GB", "TB", "bp", "bps", "dB", "px", "pt", "m²", "m³", "km²", "ha",
    "km/h", "m/s", "mph", "IU", "ppm", "ppb", "rpm", "bpm", "mmHg",
}  # fmt: skip
"""Units that may follow a number without a space. Other units need a space, so that 12a and 3rd stay text."""


def one_unit(unit: str) -> str:
    """Normalize a unit: "EUR" and "euro" become "€", for example."""
    return ONE_UNIT.get(unit.upper(), unit)


def is_currency(mark: str) -> bool:
    """Whether a text is a currency code or contains a currency sign."""
    return mark.upper() in CURRENCIES or any(unicodedata.category(sign) == "Sc" for sign in mark)


def parts_of(text: str) -> tuple[str, str, str] | None:
    """Split a text such as "-3 kg" into sign, digits and unit; ``None`` for a text that is no number."""
    bracketed = BRACKETED.fullmatch(text.strip())
    found = MARKED.fullmatch("".join(bracketed.groups()).strip() if bracketed else text.strip())
    if found is None:
        return None
    before, after = found["before"], found["after"] or ""
    sign = "-" * bool(bracketed) + found["sign"] + found["inner"] + found["last"]
    if len(sign) > 1 or (before and after) or (before and not is_currency(before)):
        return None
    # A bag of "5-kg" does not weigh -5 kg.
    if after and not (found["space"] or (after in UNITS and not found["last"]) or is_currency(after)):
        return None
    return sign, found["digits"], one_unit(before or after)


def marks_of(digits: str) -> frozenset[str]:
    """The possible decimal marks of a number."""
    return frozenset(mark for mark, form in FRACTIONS.items() if form.fullmatch(digits))


def number_of(sign: str, digits: str, decimal: str) -> float:
    """Convert ``digits`` to a number, with the given sign and decimal mark."""
    kept = re.sub(rf"{GROUP}|[.,]", lambda found: "." if found[0] == decimal else "", digits)
    return float(kept) * (-1 if sign and sign in MINUS else 1)


BOUND = re.compile(r"(<=|=<|>=|=>|[<>≤≥⩽⩾≦≧])\s*(.*)", re.DOTALL)
SIGN_OF = {"<=": "≤", "=<": "≤", "⩽": "≤", "≦": "≤", ">=": "≥", "=>": "≥", "⩾": "≥", "≧": "≥"}
POWER = re.compile(r"(.*\d)[eE]([+-]?\d{1,3})", re.DOTALL)
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
"""Infinite numbers, as in CSV files. A family of numbers refuses them."""


class Measured(NamedTuple):
    """A number or bound in a text, with its value under each possible decimal mark."""

    bound: str
    unit: str
    values: Mapping[str, float]


# A fit, its folds and its checks read the same texts again and again.
@lru_cache(maxsize=2**14)
def measured(text: str) -> Measured | None:
    """Parse a text such as "3 kg" or "<5"; ``None`` for texts that are neither numbers nor bounds."""
    text = text.translate(WIDE)
    if INFINITE.fullmatch(text.strip()):
        return Measured("", "", dict.fromkeys(FRACTIONS, float(text)))
    found = BOUND.fullmatch(text.strip())
    bound, rest = ("", text) if found is None else found.groups()
    power = POWER.fullmatch(rest.strip())
    parts = parts_of(power[1] if power else rest)
    if parts is None:
        return None
    sign, digits, unit = parts
    # The digits before a power are not grouped: 1.234e5 is not 1234e5.
    marks = {mark for mark in marks_of(digits) if not power or mark in digits} or marks_of(digits)
    by_mark = {d: number_of(sign, digits, d) for d in sorted(marks, reverse=True)}
    finite = {d: value for d, value in by_mark.items() if isfinite(value)}
    values = {d: float(f"{value!r}e{power[2]}") for d, value in finite.items()} if power else by_mark
    return Measured(SIGN_OF.get(bound, bound), unit, values) if values else None


def is_finite(text: str) -> bool:
    """Whether a text is a finite number, or a bound."""
    found = measured(text)
    return found is not None and all(map(isfinite, found.values.values()))


AROUND = re.compile(
    rf"(?P<before>(?!\D*\(\d|[+{MINUS}]{{2}})\D*?)(?P<sign>(?:(?<!\S)[+{MINUS}]\s*)?)"
    rf"(?P<digits>\d(?:[\d.,'’{SPACES}]*\d)?|(?<!\w)[.,]\d+)(?P<after>(?!\s*[+{MINUS}]+(?:\s|$)|\s*\))\D*)"
)
"""A number with any text around it, without brackets or further signs, which might be its sign."""


def labelled(text: str) -> Measured | None:
    """Parse a number with any text before or after the number, such as "TSh 1.200"; that text becomes the unit."""
    found = AROUND.fullmatch(text.strip())
    if found is None or BOUND.fullmatch(text.strip()):
        return None
    unit, sign = " … ".join(filter(None, (found["before"].strip(), found["after"].strip()))), found["sign"].strip()
    values = {d: number_of(sign, found["digits"], d) for d in sorted(marks_of(found["digits"]), reverse=True)}
    return Measured("", one_unit(unit), values) if values else None


def may_be_codes(texts: Collection[str], identifying: bool) -> bool:
    """Whether texts may be codes such as A12, rather than numbers with a unit."""
    # Codes have adjacent letters and digits, and no thousands separators.
    if any(re.search(r"[^\W\d_]\d|\d[^\W\d_]", text) for text in texts):
        return not any(re.search(r"\d[.,'’]\d{3}(?!\d)", text) for text in texts)
    # ``identifying``: whether nearly all rows have different texts.
    return identifying and not any(re.search(r"\d[.,'’]\d", text) for text in texts)


def unit_of(cell: Any) -> str:
    """The unit of the number in a text, or "" if there is no unit."""
    found = measured(cell) or labelled(cell) if isinstance(cell, str) else None
    return "" if found is None else found.unit


def units_of(texts: Iterable[str]) -> dict[str, int]:
    """Count texts by unit ("" for no unit); {} unless all texts are numbers or bounds ("<5")."""
    texts = [*texts]
    cells = [measured(text) for text in texts]
    if not any(cell is None or any(map(str.isdigit, cell.unit)) for cell in cells):
        return Counter(cell.unit for cell in cells if cell is not None)
    # Unusual units, such as "/=", are allowed if they are few.
    units = Counter(cell and cell.unit for cell in map(labelled, texts))
    return {} if None in units or len(units) > 3 or may_be_codes(texts, True) else units


def of_one_currency(units: Collection[str]) -> bool:
    """Whether all units are the same currency, ignoring "" (no unit)."""
    named = {*units} - {""}
    return len(named) == 1 and all(map(is_currency, named))


def money_in(texts: Collection[str], plain: bool) -> dict[str, float]:
    """Map amounts of money in one currency to numbers; {} for other texts, or if the decimal mark is ambiguous."""
    cells = {text: measured(text) for text in texts}
    held = {text: cell for text, cell in cells.items() if cell is not None and not cell.bound}
    # If the column also holds numbers (``plain``), these have no unit.
    units = {cell.unit for cell in held.values()} | ({""} if plain else set())
    if len(held) < len(cells) or len(units) < 2 or not of_one_currency(units):
        return {}
    marks = [mark for mark in FRACTIONS if all(mark in cell.values for cell in held.values())]
    first, *others = ([{text: cell.values[mark] for text, cell in held.items()} for mark in marks]) or [{}]
    return first if all(other == first for other in others) else {}


def decimal_of(texts: Iterable[str]) -> str:
    """The decimal mark of the numbers in texts: a comma if all numbers allow a comma and some do not allow a point."""
    cells = [cell for text in texts if (cell := measured(text)) is not None]
    return "." if any("," not in cell.values for cell in cells) or all("." in cell.values for cell in cells) else ","


class Marks(NamedTuple):
    """The decimal marks in the columns of a table that have more than ten different texts (``needed``), and in others
    (``few``).
    """

    # In a column with at most ten different texts, "1,2" may be a list of two choices. Therefore, such columns can rule
    # out a decimal mark, but cannot settle it by themselves.
    needed: frozenset[str]
    few: frozenset[str]

    @property
    def settled(self) -> str:
        """The decimal mark of texts such as "1,234"; "" if no column settles it, or if columns need different marks."""
        return min(self.needed) if len(self.needed) == 1 and self.few <= self.needed else ""


MOST_SEEN = 1000
"""Number of different texts per column, in alphabetical order, that are searched for decimal marks."""


def marks_among(columns: Iterable[Iterable[str]]) -> Marks:
    """The decimal marks in those columns of texts in which more than four fifths of the texts are numbers."""
    found: tuple[set[str], set[str]] = set(), set()
    for column in columns:
        texts = sorted({text for text in map(str.strip, column) if text.lower() not in GAPS})[:MOST_SEEN]
        cells = [(text, cell) for text in texts if (cell := measured(text)) is not None]
        if len(cells) > 0.8 * len(texts):
            marks = ((text, *cell.values) for text, cell in cells if len(cell.values) == 1)
            # A mark must occur in a text: groups of digits without it, such as 192.168.100.101, may be an address.
            found[len(texts) <= 10].update(mark for text, mark in marks if mark in text)
    return Marks(*map(frozenset, found))


def number_in(text: str, decimal: str = ".") -> str:
    """Reformat the number in a text, such as "1.234,50 €" to "1234.5"; "" for ambiguous or long numbers."""
    values = {*found.values.values()} if (found := measured(text)) and not found.bound else set()
    value = values.pop() if len(values) == 1 else nan
    plain = isfinite(value) and float(number := f"{value:.15g}") == value
    return number.replace(".", decimal) if plain else ""


def with_other_mark(text: str, decimal: str) -> str:
    """Swap points and commas in a number whose decimal mark is ``decimal``."""
    found = measured(text)
    if found is None or decimal not in found.values:
        return text
    return re.sub(rf"(?<![^\W\d_]){DIGITS}", lambda number: number[0].translate(OTHER), text, count=1)


def is_float(text: Any) -> bool:
    """Whether ``float`` can convert a cell. Text with an underscore is no number, though Python reads 1_000."""
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return "_" not in str(text)
