"""Tables as programs and people export them, made by hand: the text of a file, and the values behind its cells.

The values are what somebody would type by hand as features for another classifier. Twelve kinds of exports, after
public descriptions of such files; no row is real.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Export:
    """A file, its class column, the values behind its cells, and the feature columns that are expected of it."""

    lines: list[str]
    target: str
    values: pd.DataFrame
    labels: np.ndarray
    families: dict[str, str]
    encoding: str = "utf-8"
    advised: tuple[str, ...] = ()


def german(value: float, digits: int = 2) -> str:
    """Return a number with a decimal comma and points between thousands."""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def _labels(rng: np.random.Generator, log_odds: np.ndarray, names: tuple[str, str]) -> np.ndarray:
    return np.where(rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds)), *names)


def _days(rng: np.random.Generator, n: int, start: str, length: int) -> pd.DatetimeIndex:
    return pd.Timestamp(start) + pd.to_timedelta(rng.integers(0, length, n), unit="D")


def _chosen(rng: np.random.Generator, n: int, options: dict[str, float], also: np.ndarray) -> pd.DataFrame:
    """Return a column of 0 and 1 per option, at least one of them 1 in each row; ``also`` raises the first one."""
    p = np.tile([*options.values()], (n, 1))
    p[:, 0] = np.clip(p[:, 0] + 0.35 * also, 0, 0.95)
    found = (rng.random(p.shape) < p).astype(int)
    found[found.sum(1) == 0, -1] = 1
    return pd.DataFrame(found, columns=list(options))


def _joined(chosen: pd.DataFrame, separator: str) -> list[str]:
    names = np.array(chosen.columns)
    return [separator.join(names[row == 1]) for row in chosen.to_numpy()]


def customers(rng: np.random.Generator, n: int) -> Export:
    """An export of a German shop: a title, euros, percent signs, dates, several contacts."""
    since, turnover, discount = _days(rng, n, "2017-01-01", 2500), rng.lognormal(6, 1, n), rng.gamma(2, 4, n)
    years = (pd.Timestamp("2024-01-01") - since).days.to_numpy() / 365
    y = _labels(rng, 1.2 - 0.5 * years + 0.12 * discount - 0.5 * (np.log(turnover) - 6), ("ja", "nein"))
    contact = _chosen(rng, n, {"Telefon": 0.3, "E-Mail": 0.5, "Filiale": 0.3}, y == "ja")
    cells = zip(since.strftime("%d.%m.%Y"), map(german, turnover), discount, _joined(contact, "; "), y, strict=True)
    lines = ["Kundenexport;Stand: 01.01.2024;;;", "", "Kunde seit;Umsatz;Rabatt;Kontakt;Gekündigt"]
    lines += [f'{d};{u} €;{german(r, 1)} %;"{c}";{label}' for d, u, r, c, label in cells]
    values = pd.DataFrame({"since": years, "turnover": np.log(turnover), "discount": discount}).join(contact)
    families = {
        "elapsed of Kunde seit": "Gaussian", "Umsatz": "Gaussian", "Rabatt": "Gaussian",
        "Kontakt=E-Mail": "Bernoulli", "Kontakt=Filiale": "Bernoulli", "Kontakt=Telefon": "Bernoulli",
    }  # fmt: skip
    return Export(lines, "Gekündigt", values, y, families, "cp1252", ("Umsatz=log-normal",))


def hospital(rng: np.random.Generator, n: int) -> Export:
    """A panel of a laboratory: units in the cells, a word for a spoiled sample, sexes in several spellings."""
    ill = rng.random(n) < 0.35
    crp, alt = rng.lognormal(2 + 1.1 * ill, 0.8), rng.lognormal(3.2 + 0.5 * ill, 0.5)
    sodium, sex = rng.normal(140 - 2 * ill, 3), rng.choice(["f", "m"], n)
    spelled = [{"f": ["f", "F"], "m": ["m", "M"]}[s][rng.random() < 0.2] for s in sex]
    drawn = [f"{v:.0f} U/L" if rng.random() > 0.02 else "hemolyzed" for v in alt]
    cells = zip(crp, drawn, sodium, spelled, np.where(ill, "sepsis", "other"), strict=True)
    lines = ["CRP\tALT\tNa\tSex\tDx", *[f"{c:.1f} mg/L\t{a}\t{s:.0f}\t{x}\t{dx}" for c, a, s, x, dx in cells]]
    values = pd.DataFrame({"crp": np.log(crp), "alt": np.log(alt), "na": sodium, "sex": sex == "f"}).astype(float)
    families = {"CRP": "Gaussian", "ALT": "Categorical", "Na": "Gaussian", "Sex": "Categorical"}
    advised = ("CRP=log-normal", "ALT=hemolyzed", "Sex=joined")
    return Export(lines, "Dx", values, np.where(ill, "sepsis", "other"), families, advised=advised)


def survey(rng: np.random.Generator, n: int) -> Export:
    """A survey with several answers in a cell, an ordered answer and the time of the answer."""
    mood, night = rng.integers(0, 5, n), rng.random(n) < 0.3
    y = _labels(rng, 0.8 * (mood - 2) - 0.6 * night, ("stays", "leaves"))
    used = _chosen(rng, n, {"Chat": 0.2, "App": 0.4, "Web": 0.5, "Shop": 0.2}, y == "leaves")
    scale = ["very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"]
    hour = np.where(night, rng.integers(20, 24, n), rng.integers(8, 18, n))
    when = [f"2024-03-{d:02d} {h:02d}:{m:02d}" for d, h, m in
            zip(rng.integers(1, 31, n), hour, rng.integers(0, 60, n), strict=True)]  # fmt: skip
    cells = zip(when, [scale[k] for k in mood], _joined(used, ", "), y, strict=True)
    lines = ["answered,mood,used,plan", *[f'{w},{m},"{u}",{label}' for w, m, u, label in cells]]
    families = {"elapsed of answered": "Gaussian", "mood": "Categorical"}
    families |= {f"used={name}": "Bernoulli" for name in ("App", "Chat", "Shop", "Web")}
    values = pd.DataFrame({"mood": mood, "night": night}).astype(float).join(used)
    return Export(lines, "plan", values, y, families, advised=("mood=ordinal:very dissatisfied",))


def bank(rng: np.random.Generator, n: int) -> Export:
    """A bank statement: signed euros and the day of booking; rent is paid on the first days of a month."""
    kind = rng.choice(["Miete", "Einkauf", "Gehalt"], n, p=[0.2, 0.6, 0.2])
    booked = _days(rng, n, "2023-01-01", 700)
    amount = np.select([kind == "Miete", kind == "Gehalt"], [-rng.normal(900, 150, n), rng.normal(2600, 600, n)],
                       -rng.lognormal(3.8, 0.9, n))  # fmt: skip
    bank_of = np.where(rng.random(n) < 0.7, np.where(kind == "Gehalt", "Bank A", "Bank B"), "Bank C")
    cells = zip(booked.strftime("%d.%m.%Y"), map(german, amount), bank_of, kind, strict=True)
    lines = ["Buchung;Betrag;Konto;Art", *[f"{d};{a} EUR;{b};{k}" for d, a, b, k in cells]]
    size = np.sign(amount) * np.log(np.abs(amount))
    values = pd.DataFrame({"amount": size, "a": bank_of == "Bank A", "b": bank_of == "Bank B"}).astype(float)
    return Export(lines, "Art", values, kind, {"elapsed of Buchung": "Gaussian", "Betrag": "Gaussian",
                                               "Konto": "Categorical"})  # fmt: skip


def sensors(rng: np.random.Generator, n: int) -> Export:
    """A log of a sensor: time stamps with zone, degrees and percent; a fault comes at night and with heat."""
    hour = rng.integers(0, 24, n)
    heat, wet = rng.normal(22, 5, n), rng.beta(4, 3, n) * 100
    y = _labels(rng, 0.25 * (heat - 24) + 1.2 * (hour < 6) - 0.8, ("fault", "ok"))
    stamp = [f"2024-06-{d:02d}T{h:02d}:{m:02d}:00+02:00" for d, h, m in
             zip(rng.integers(1, 31, n), hour, rng.integers(0, 60, n), strict=True)]  # fmt: skip
    cells = zip(stamp, heat, wet, y, strict=True)
    lines = ["time,temperature,humidity,state", *[f"{t},{h:.1f} °C,{w:.0f} %,{s}" for t, h, w, s in cells]]
    values = pd.DataFrame({"heat": heat, "wet": wet, "night": hour < 6}).astype(float)
    families = {"elapsed of time": "Gaussian", "temperature": "Gaussian", "humidity": "Gaussian"}
    return Export(lines, "state", values, y, families)


def marathon(rng: np.random.Generator, n: int) -> Export:
    """Results of a marathon: times as hours, minutes and seconds."""
    woman = rng.random(n) < 0.4
    half = rng.normal(1.75 + 0.2 * woman, 0.22, n)
    whole = half * rng.normal(2.12 - 0.05 * woman, 0.08, n)
    age = rng.integers(18, 75, n)

    def clock(hours: np.ndarray) -> list[str]:
        seconds = (hours * 3600).astype(int)
        return [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds]

    cells = zip(clock(half), clock(whole), age, np.where(woman, "W", "M"), strict=True)
    lines = ["half,finish,age,sex", *[",".join(map(str, row)) for row in cells]]
    values = pd.DataFrame({"half": half, "finish": whole, "ratio": whole / half, "age": age})
    return Export(lines, "sex", values, np.where(woman, "W", "M"),
                  {"elapsed of half": "Gaussian", "elapsed of finish": "Gaussian", "age": "Gaussian"})  # fmt: skip


def spelling(rng: np.random.Generator, n: int) -> Export:
    """A list typed by hand: countries with typing errors, colours in capitals and small letters, prices in francs."""
    land, colour = rng.choice(["Germany", "France", "Austria"], n), rng.choice(["red", "green", "blue"], n)
    price = rng.lognormal(4, 0.6, n)
    y = _labels(rng, 1.5 * (land == "France") - 1.2 * (colour == "red") + 0.8 * (np.log(price) - 4), ("sold", "kept"))
    typed = [t[1] + t[0] + t[2:] if rng.random() < 0 else t for t in land]
    typed[:3] = ["Germnay", "Frnace", "Austira"]
    painted = [str(rng.choice([c, c.title(), c + " "], p=[0.6, 0.3, 0.1])) for c in colour]
    lines = ["land;colour;price;y"]
    lines += [f"{a};{c};CHF {p:.2f};{label}" for a, c, p, label in zip(typed, painted, price, y, strict=True)]
    values = pd.DataFrame({"price": np.log(price), "fr": land == "France", "de": land == "Germany",
                           "red": colour == "red", "green": colour == "green"}).astype(float)  # fmt: skip
    families = {"land": "Categorical", "colour": "Categorical", "price": "Gaussian"}
    return Export(lines, "y", values, y, families, advised=("land=joined:", "colour=joined"))


def orders(rng: np.random.Generator, n: int) -> Export:
    """Orders of an American shop: dollars before the number, dates with the month first, weights with a unit."""
    day = _days(rng, n, "2022-01-01", 1000)
    value, weight = rng.lognormal(4.5, 0.8, n), rng.gamma(2, 2, n) + 0.1
    y = _labels(rng, 1.1 * np.isin(day.month, [11, 12, 1]) + 0.5 * (np.log(value) - 4.5) - 0.6, ("returned", "kept"))
    cells = zip(day, value, weight, y, strict=True)
    lines = ["ordered,value,weight,outcome"]
    lines += [f'{d.month}/{d.day}/{d.year},"${v:,.2f}",{w:.1f} kg,{label}' for d, v, w, label in cells]
    winter = np.isin(day.month, [11, 12, 1]).astype(float)
    values = pd.DataFrame({"value": np.log(value), "weight": weight, "winter": winter})
    families = {"elapsed of ordered": "Gaussian", "value": "Gaussian", "weight": "Gaussian"}
    return Export(lines, "outcome", values, y, families)


def _reported(values: np.ndarray, low: float, high: float, form: str = ".1f") -> list[str]:
    """Return the cells of a laboratory, which reports values outside a range by a bound."""
    return [f"<{low:g}" if v < low else f">{high:g}" if v > high else f"{v:{form}}" for v in values]


def _within(values: np.ndarray, low: float, high: float) -> pd.DataFrame:
    """Return what a person makes of such cells: logarithms within the range, and two flags."""
    return pd.DataFrame(
        {"log": np.log(values.clip(low / 2, high)), "low": values < low, "high": values > high}, dtype=float
    )


def panel(rng: np.random.Generator, n: int) -> Export:
    """A panel of a laboratory with bounds, a word for a spoiled sample, and tests that were not done."""
    ill = rng.random(n) < 0.4
    crp, troponin = rng.lognormal(1.5 + 1.3 * ill, 1.0), rng.lognormal(1.8 + 0.8 * ill, 0.9)
    age = rng.integers(20, 90, n)
    shown = _reported(troponin, 5, 100)
    shown = ["hemolyzed" if rng.random() < 0.02 else "not done" if rng.random() < 0.1 else cell for cell in shown]
    cells = zip(_reported(crp, 3, 60), shown, age, np.where(ill, "MI", "other"), strict=True)
    lines = ["CRP,Troponin,Age,Dx", *[",".join(map(str, row)) for row in cells]]
    values = pd.concat([_within(crp, 3, 60).add_prefix("crp "), _within(troponin, 5, 100).add_prefix("tn ")], axis=1)
    lost = np.isin(shown, ["hemolyzed", "not done"])
    values.loc[lost, ["tn log", "tn low", "tn high"]] = [values["tn log"][~lost].mean(), 0.0, 0.0]
    families = {"kind of CRP": "Categorical", "number of CRP": "Gaussian", "kind of Troponin": "Categorical",
                "number of Troponin": "Gaussian", "Age": "Gaussian"}  # fmt: skip
    return Export(lines, "Dx", values.assign(age=age), np.where(ill, "MI", "other"), families,
                  advised=("Troponin=not done",))  # fmt: skip


def water(rng: np.random.Generator, n: int) -> Export:
    """Samples of a water works: decimal commas, detection limits with a blank, the day of the sample."""
    day = _days(rng, n, "2021-01-01", 1095)
    warm = np.isin(day.month, [6, 7, 8])
    nitrate, germs = rng.lognormal(1.2, 0.8, n), rng.lognormal(2.2 + 1.2 * warm, 1.1)
    y = _labels(rng, 0.9 * (np.log(nitrate) - 1.2) + 0.8 * (np.log(germs) - 2.6) - 0.4, ("beanstandet", "ok"))
    cells = zip(
        day.strftime("%d.%m.%Y"), _reported(nitrate, 1.5, 1000), _reported(germs, 4, 200, ".0f"), y, strict=True
    )
    lines = ["Datum;Nitrat;Keime;Befund"]
    lines += [
        f"{d};{a.replace('<', '< ').replace('.', ',')};{g.replace('>', '> ')};{label}" for d, a, g, label in cells
    ]
    values = pd.concat([_within(nitrate, 1.5, 1e3).add_prefix("n "), _within(germs, 4, 200).add_prefix("g ")], axis=1)
    families = {"elapsed of Datum": "Gaussian", "kind of Nitrat": "Categorical", "number of Nitrat": "Gaussian",
                "kind of Keime": "Categorical", "number of Keime": "Gaussian"}  # fmt: skip
    return Export(lines, "Befund", values.assign(warm=warm), y, families, advised=("number of Nitrat=log-normal",))


def tickets(rng: np.random.Generator, n: int) -> Export:
    """Tickets of a help desk: tags in one cell, a clock time, an ordered answer, words for no answer."""
    hour, mood = rng.integers(0, 24, n), rng.integers(0, 5, n)
    y = _labels(rng, 0.9 * (2 - mood) + 1.0 * (hour >= 18) - 0.5, ("escalated", "closed"))
    tags = _chosen(rng, n, {"billing": 0.2, "login": 0.4, "speed": 0.3}, y == "escalated")
    scale = ["very unlikely", "unlikely", "neutral", "likely", "very likely"]
    asked = rng.random(n) < 0.85
    answers = np.where(asked, np.array(scale)[mood], "no data")
    clock = [f"{h:02d}:{m:02d}" for h, m in zip(hour, rng.integers(0, 60, n), strict=True)]
    cells = zip(clock, _joined(tags, "|"), answers, y, strict=True)
    lines = ["opened,tags,recommend,state", *[",".join(row) for row in cells]]
    values = (
        pd.DataFrame({"mood": np.where(asked, mood, 2), "asked": asked, "late": hour >= 18}).astype(float).join(tags)
    )
    families = {"elapsed of opened": "Gaussian", "recommend": "Categorical"}
    families |= {f"tags={name}": "Bernoulli" for name in ("billing", "login", "speed")}
    return Export(lines, "state", values, y, families, advised=("recommend=no data", "recommend=ordinal:very unlikely"))


def flats(rng: np.random.Generator, n: int) -> Export:
    """Offers of flats: rents and areas with units, letters of an energy label, codes of countries with Namibia."""
    area, label, land = (
        rng.gamma(9, 8, n) + 15,
        rng.choice(list("ABCD"), n),
        rng.choice(["DE", "AT", "CH", "NA", "FR"], n),
    )
    rent = area * rng.lognormal(2.5, 0.25, n)
    score = -3.0 * (np.log(rent / area) - 2.5) - 0.9 * (label == "D") + 0.8 * (land == "CH")
    y = _labels(rng, score, ("let", "free"))
    cells = zip(rent, area, label, land, y, strict=True)
    lines = ["Miete;Fläche;Energie;Land;Status"]
    lines += [f"{german(r)} €;{german(a, 1)} m²;{e};{where};{s}" for r, a, e, where, s in cells]
    values = pd.DataFrame(
        {"rent": np.log(rent), "area": np.log(area), "d": label == "D", "ch": land == "CH"}, dtype=float
    )
    families = {"Miete": "Gaussian", "Fläche": "Gaussian", "Energie": "Categorical", "Land": "Categorical"}
    return Export(lines, "Status", values, y, families, "cp1252")


EXPORTS: dict[str, Callable[[np.random.Generator, int], Export]] = {
    "customers": customers, "hospital": hospital, "survey": survey, "bank": bank, "sensors": sensors,
    "marathon": marathon, "spelling": spelling, "orders": orders, "panel": panel, "water": water, "tickets": tickets,
    "flats": flats,
}  # fmt: skip
