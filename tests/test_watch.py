"""The alarm for streams: its numbers are uniform at every parameter, its bets are fair, and it sees changes."""

import functools
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import kstest

import bayesnb as nb
from bayesnb.inference import watch as alarm
from bayesnb.inference.watch import Bets, Levels, Normals, Ranks, Rates
from bayesnb.presets.rounded import RoundedGaussian


def readers(rng: np.random.Generator) -> dict:
    """Readers of a few learned rows, and rows of the stream from the same distribution."""
    shares = np.array([0.1, 0.3, 0.6])
    normal, t = rng.normal(50, 3, 12), np.sort(rng.standard_t(2, 9))
    return {
        "levels": (Levels(np.bincount(rng.choice(3, 6, p=shares), minlength=3) * 1.0), rng.choice(3, 5, p=shares)),
        "normal": (Normals(12.0, normal.mean(), 12 * normal.var()), rng.normal(50, 3, 5)),
        "counts": (Rates(7.0, float(rng.poisson(0.8, 7).sum())), rng.poisson(0.8, 5).astype(float)),
        "ranks": (Ranks(tuple(t)), rng.standard_t(2, 5)),
    }


@pytest.mark.parametrize("kind", ["levels", "normal", "counts", "ranks"])
def test_values_become_independent_uniform_numbers_whatever_the_parameters_are(kind):
    rng = np.random.default_rng(5)
    found = []
    for _ in range(1000):
        reader, x = readers(rng)[kind]
        found.append(reader.after(x, rng.random(len(x)))[1])
    u = np.array(found)  # (repetition, stream, row)
    for stream in range(u.shape[1]):
        assert min(kstest(u[:, stream, row], "uniform").pvalue for row in range(5)) > 1e-3
        correlation = np.corrcoef(u[:, stream].T) - np.eye(5)
        assert np.abs(correlation).max() < 4.5 / np.sqrt(1000)


def test_a_number_of_a_normal_column_is_the_distribution_function_of_student_t():
    from scipy.stats import t

    x = np.array([3.0, 5.0, 4.0, 9.0])
    _, u = Normals(3.0, 4.0, 2.0).after(x[3:], np.zeros(1))
    assert_allclose(u, [[t.cdf((9 - 4) / np.sqrt(1.0 * (1 + 1 / 3)), 2)]], rtol=1e-13)


def test_the_next_bet_is_a_density_whatever_the_numbers_before_were():
    rng = np.random.default_rng(0)
    for n in (0, 3, 70):
        bets, _ = Bets.new(None).after(rng.beta(2, 1, n), np.zeros(n))

        def density(z, bets=bets):
            grown = bets.after(np.array([ndtr(z)]), np.zeros(1))[0]
            return np.exp(grown.log_e - bets.log_e - z * z / 2) / np.sqrt(2 * np.pi)

        edges = [-7, *np.sort(alarm.ndtri(alarm.SPLITS)), 7]
        mass = sum(quad(density, a, b, epsabs=1e-10)[0] for a, b in pairwise(edges))
        assert_allclose(mass, 1, atol=1e-6)


def table(n: int, seed: int, shift: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """A number, a level, a 0/1 and a count in two classes."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "a", "b")
    own = y == "a"
    level = np.where(rng.random(n) < np.where(own, 0.7, 0.3), "red", "blue")
    X = {"size": rng.normal(10 + 2 * own + shift, 1.5), "colour": level, "old": rng.integers(2, size=n)}
    return pd.DataFrame(X | {"visits": rng.poisson(2 + own)}), y


@pytest.fixture(scope="module")
def clf():
    return nb.BayesianNB({"visits": "poisson"}).fit(*table(300, 1))


def test_false_alarms_are_as_rare_as_stated():
    """Over learned rows and streams: for one model the probability may be larger."""
    found = []
    for seed in range(20):
        clf = nb.BayesianNB({"visits": "poisson"}).fit(*table(60, 2 * seed + 1))
        found.append(nb.checks.watch(clf, level=0.2).update(*table(150, 2 * seed + 2)))
    assert sum(len(each.alarms) > 0 for each in found) <= 0.2 * 20 + 2 * np.sqrt(20 * 0.2 * 0.8)


@pytest.mark.parametrize(("learned", "tail"), [(100, 100_000), (50, 100)])
@pytest.mark.parametrize("labelled", [True, False])
def test_rare_levels_that_only_the_learned_rows_or_only_the_stream_have_raise_no_alarm(learned, tail, labelled):
    def rows(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
        levels = np.where(rng.random(n) < 0.5, "A", rng.integers(tail, size=n).astype(str))
        return pd.DataFrame({"level": levels}), rng.integers(2, size=n)

    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        found = nb.checks.watch(nb.BayesianNB({"level": "categorical"}).fit(*rows(learned, rng)), level=0.05)
        X, y = rows(200, rng)
        alarms += len(found.update(X, y if labelled else None).alarms) > 0
    assert alarms <= 2


def test_a_new_level_that_many_rows_have_is_found():
    X, y = table(300, 1)
    found = nb.checks.watch(nb.BayesianNB({"visits": "poisson"}).fit(X, y)).update(X.assign(colour="green"), y)
    assert set(found.alarms["column"]) == {"colour"}
    # A type that declares the levels has no place for new ones, which are passed over.
    declared = X.assign(colour=X["colour"].astype("category"))
    clf = nb.BayesianNB({"visits": "poisson"}).fit(declared, y)
    assert nb.checks.watch(clf).update(X.assign(colour="green"), y).alarms.empty


def test_random_numbers_of_a_user_are_not_those_of_the_alarm():
    rng = np.random.default_rng(0)
    level = pd.DataFrame({"level": np.where(rng.random(400) < 0.3, "a", "b")})
    y = np.random.default_rng(1).integers(2, size=400)
    clf = nb.BayesianNB().fit(level.sample(frac=1, random_state=1), y)
    assert nb.checks.watch(clf).update(level).alarms.empty


def test_a_shift_is_found_in_its_column_and_no_other(clf):
    found = nb.checks.watch(clf).update(*table(200, 2)).update(*table(200, 3, shift=1.5))
    assert {*zip(found.alarms["column"], found.alarms["class"], strict=True)} == {("size", "a"), ("size", "b")}
    assert (found.alarms["alarm"] > 200).all()
    assert str(found).startswith("Alarm after")
    first = int(found.alarms["alarm"].min())
    assert nb.checks.watch(clf).update(*table(200, 2)).alarms.empty
    assert str(found).startswith(f"Alarm after {first} of {found.rows} rows")
    assert "further" not in str(found)  # Both alarms are about one column.
    assert nb.plots.watch(found).axes[0].get_ylabel() == "log e-value"


def test_a_new_frequency_of_a_class_is_found(clf):
    X, y = table(400, 4)
    rest = np.flatnonzero((y == "b") | (np.arange(400) % 4 == 0))
    assert "class frequencies" in set(nb.checks.watch(clf).update(X.iloc[rest], y[rest]).alarms["column"])


@pytest.mark.parametrize("cuts", [[200], [1, 2, 3, 70, 150], [*range(1, 200, 13)]])
def test_updates_in_parts_are_one_update(clf, cuts):
    X, y = table(200, 5)
    found, first = nb.checks.watch(clf), 0
    for last in [*cuts, 200]:
        found, first = found.update(X[first:last], y[first:last]), last
    whole = nb.checks.watch(clf).update(X, y)
    pd.testing.assert_frame_equal(found.table, whole.table, rtol=1e-9)


def test_columns_classes_and_units_may_be_exchanged(clf):
    X, y = table(150, 6)
    learned = table(300, 1)
    names = {"a": "z", "b": "c"}
    other = nb.BayesianNB({"visits": "poisson"}).fit(
        learned[0].assign(size=-3 * learned[0]["size"])[[*X][::-1]], [names[label] for label in learned[1]]
    )
    found = (
        nb.checks.watch(other).update(X.assign(size=-3 * X["size"])[[*X][::-1]], [names[label] for label in y]).table
    )
    expected = nb.checks.watch(clf).update(X, y).table.replace({"class": names})
    both = [frame.set_index(["column", "class"])["log_largest"].sort_index() for frame in (found, expected)]
    assert_allclose(*both, rtol=1e-6, atol=1e-8)


def test_with_learned_rows_numbers_are_watched_by_ranks_and_without_labels(clf):
    X, _ = table(200, 7, shift=3.0)
    with pytest.raises(ValueError, match="without labels"):
        nb.checks.watch(nb.BayesianNB().fit(X[["size"]], table(200, 7)[1])).update(X[["size"]])
    watched = nb.checks.watch(clf, *table(300, 1))
    found = watched.update(X)
    assert found.alarms["column"][0] == "size"
    assert found.table["class"].isna().all()
    skewed = table(200, 8)[0]
    assert watched.update(skewed).alarms.empty
    # Ranks do not change under a monotone transformation of learned and new rows.
    learned, y = table(300, 1)
    other = nb.BayesianNB({"visits": "poisson"}).fit(learned.assign(size=np.exp(learned["size"])), y)
    again = nb.checks.watch(other, learned.assign(size=np.exp(learned["size"])), y).update(
        X.assign(size=np.exp(X["size"]))
    )
    assert_allclose(again.table["log_e"], found.table["log_e"], rtol=1e-12)


def test_a_gap_is_passed_over_and_other_columns_are_not_changed(clf):
    X, y = table(100, 9)
    holes = X.assign(size=X["size"].where(np.arange(100) % 2 == 0))
    whole, found = (nb.checks.watch(clf).update(each, y).table.set_index(["column", "class"]) for each in (X, holes))
    assert found.loc["size", "rows"].sum() == 50
    assert_allclose(found.loc["colour", "log_e"].sort_index(), whole.loc["colour", "log_e"].sort_index())


def test_rows_without_a_label_are_skipped_and_counted():
    X, y = table(300, 1)
    clf = nb.BayesianNB().fit(X[["size"]], y)
    new, labels = table(200, 3, 4.0)
    new = new[["size"]]
    labels = pd.Series(labels, dtype=object).where(np.arange(200) % 4 < 3)
    known = labels.notna()
    part, every = (
        nb.checks.watch(clf).update(new[rows], labels[rows]).table.set_index(["column", "class"]).loc["size"]
        for rows in (known, known | True)
    )
    assert_allclose(every["log_e"], part["log_e"])
    places = np.flatnonzero(known) + 1
    assert part["alarm"].notna().all()
    assert every["alarm"].tolist() == places[part["alarm"].astype(int) - 1].tolist()
    assert nb.checks.watch(clf).update(new, labels).rows == 200


def test_what_cannot_be_watched_is_refused_or_named(clf):
    X, y = table(40, 1)
    with pytest.raises(ValueError, match="whole rows"):
        nb.checks.watch(nb.BayesianNB().fit(X, y, sample_weight=np.full(40, 0.3)))
    with pytest.raises(ValueError, match="whole rows"):
        nb.checks.watch(nb.BayesianNB().fit(X, y).discount(0.5))
    with pytest.raises(ValueError, match="between 0 and 1"):
        nb.checks.watch(clf, level=1.5)
    with pytest.raises(ValueError, match="had labels"):
        nb.checks.watch(clf).update(X, y).update(X)
    tree = nb.BayesianNB({"size": nb.families.PolyaTree()}).fit(X, y)
    assert nb.checks.watch(tree).update(X, y).table.attrs["unwatched"] == ("size",)
    # This family counts distinct values too, but they are no levels.
    counted = nb.BayesianNB({"size": RoundedGaussian()}, estimate="mean").fit(X, y)
    assert nb.checks.watch(counted).update(X, y).table.attrs["unwatched"] == ("size",)
    with pytest.raises(ValueError, match="nothing to draw"):
        nb.plots.watch(nb.checks.watch(clf))


def test_the_command_line_has_the_numbers_of_python(clf, tmp_path, capsys):
    from bayesnb.cli import main

    X, y = table(120, 10)
    clf.save(tmp_path / "model.bayesnb")
    X.assign(kind=y).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(SystemExit) as ended:
        main(["watch", str(tmp_path / "model.bayesnb"), str(tmp_path / "new.csv"), "--target", "kind"])
    assert ended.value.code == 0
    found = nb.checks.watch(clf).update(X, y)
    said = " ".join(capsys.readouterr().out.split())
    assert str(found) in said
    unwatched = found.table.attrs["unwatched"]
    assert not unwatched or f"Not watched: {', '.join(unwatched)}" in said


@pytest.mark.parametrize("labelled", [True, False])
def test_an_alarm_says_what_changed(labelled):
    rng, n = np.random.default_rng(0), 1200
    X = pd.DataFrame({
        "higher": rng.normal(0, 1, n), "lower": rng.exponential(1, n), "wider": rng.normal(5, 1, n),
        "kind": rng.choice(["u", "v", "w"], n), "flag": rng.integers(0, 2, n), "member": rng.random(n) < 0.5,
        "same": rng.normal(0, 1, n),
    })  # fmt: skip
    y = rng.choice(["no", "yes"], n)
    later = rng.permutation(n)
    new, k = X.iloc[later].reset_index(drop=True), np.arange(n) > 200
    new["higher"] += 2 * k
    new["lower"] *= np.where(k, 0.3, 1)
    new["wider"] = np.where(k, 5 + 3 * (new["wider"] - 5), new["wider"])
    new["kind"] = np.where(k & (rng.random(n) < 0.6), "v", new["kind"])
    new["flag"] = np.where(k & (rng.random(n) < 0.6), 1, new["flag"])
    new["member"] &= ~(k & (rng.random(n) < 0.6))
    labels = np.where(k & (rng.random(n) < 0.5), "yes", y[later]) if labelled else None
    found = nb.checks.watch(nb.BayesianNB().fit(X, y), X, y).update(new, labels)
    changes = found.table.drop_duplicates("column").set_index("column")["change"]
    assert changes[["higher", "lower", "wider"]].tolist() == [
        "higher values", "lower values, less spread", "more spread",
    ]  # fmt: skip
    assert changes[["kind", "flag", "member"]].tolist() == [
        "'v' more frequent", "1 more frequent", "False more frequent",
    ]  # fmt: skip
    first = found.alarms.iloc[0]
    assert f"({first['change']})" in str(found)
    quiet = found.table[found.table["alarm"].isna()]
    assert (quiet["change"] == "").all()
    if labelled:
        frequencies = found.table[found.table["column"] == "class frequencies"].set_index("class")["change"]
        assert frequencies.to_dict() == {"no": "less frequent", "yes": "more frequent"}


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("family", ["gaussian", "log-normal", "mixture", "shared-gaussian", "polya-tree"])
def test_a_change_of_the_mean_and_of_the_spread_are_named_apart(family, given, labelled):
    if not (given or labelled) or (not given and family not in ("gaussian", "log-normal")):
        pytest.skip("such columns need learned rows")
    rng, n, new = np.random.default_rng(0), 1000, 400
    y, later = np.array(["a", "b"] * (n // 2)), np.array(["a", "b"] * (new // 2))
    learned, read = rng.normal(size=n), np.exp if family == "log-normal" else np.asarray
    clf = nb.BayesianNB({"t": family}).fit(pd.DataFrame({"t": read(learned)}), y)
    watch = nb.checks.watch(clf, *((pd.DataFrame({"t": read(learned)}), y) if given else ()))
    every = family == "gaussian" and given and labelled  # The other cases try fewer changes.
    shifts = [-5, -4, -3, -1.5, -1, -0.5, 0.5, 1, 1.5, 3, 4, 5] if every else [-4, 0.5, 1.5]
    for shift, spread in product(shifts, [0.2, 1, 3]):
        stream = shift + spread * rng.normal(size=new)
        X = pd.DataFrame({"t": read(stream)})
        found = watch.update(X, later if labelled else None).table
        changes = [change for change in found["change"][found["column"] == "t"] if change]
        for change in changes:
            if abs(shift) >= (1 if spread < 3 else 1.5):
                assert ("higher values" if shift > 0 else "lower values") in change, (shift, spread)
            assert ("lower values" if shift > 0 else "higher values") not in change, (shift, spread)
            assert ("less spread" in change) == (spread == 0.2), (shift, spread, change)
            assert ("more spread" in change) == (spread == 3), (shift, spread, change)
        assert len(changes) or (abs(shift) < 1 and spread == 1)


@functools.cache
def of_large_numbers(seed, given):
    """A column of random numbers near 18400 and its watch, with the learned rows or without."""
    y = np.array(["a", "b"] * 150)
    old = pd.DataFrame({"t": 18400 + 80 * np.random.default_rng(seed).normal(size=300)})
    return nb.checks.watch(nb.BayesianNB().fit(old, y), *((old, y) if given else ()))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("before", [0, 200])
@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-4, 0.1])
@pytest.mark.parametrize("value", [0.0, 0.13, -0.7, 4.0, 1e3, 1e5, -1e9])
def test_constant_and_nearly_constant_values_have_less_spread_and_never_more(value, spread, before, given):
    jump = before and abs(value) >= 4  # The spread of these rows is part of the jump: they only raise no error.
    for seed in range(1 if jump else 3):
        rng, later = np.random.default_rng(seed + 3), np.array(["a", "b"] * 200)
        new = np.concatenate([rng.normal(size=before), value + spread * rng.normal(size=400 - before)])
        found = of_large_numbers(seed, given).update(pd.DataFrame({"t": 18400 + 80 * new}), later).table
        changes = found["change"][found["column"] == "t"].tolist()
        assert jump or not any("more spread" in change for change in changes), changes
        assert jump or all("less spread" in change for change in changes) or abs(value) > 1e4, changes


@pytest.mark.parametrize("size", [1, 7, 60])
def test_a_stream_in_parts_says_the_same_as_the_whole_stream_of_dates_and_constants(size):
    (old, y), (new, labels) = table(300, 1), table(120, 2)
    rng = np.random.default_rng(0)
    old["day"] = days(rng.permutation(600)[:300])
    every = np.concatenate([rng.integers(700, 800, 20), rng.integers(-900, -800, 80), rng.integers(900, 990, 20)])
    new["day"], new["size"] = days(every), 1.3
    watch = nb.checks.watch(nb.BayesianNB({"visits": "poisson"}).fit(old, y))
    whole, parts, alarms = watch.update(new, labels), watch, set()
    for start in range(0, 120, size):
        parts = parts.update(new[start : start + size], labels[start : start + size])
        now = {*parts.alarms[["column", "class"]].itertuples(index=False, name=None)}
        assert alarms <= now
        alarms = now
    assert str(parts) == str(whole)
    exact = ["column", "class", "rows", "alarm", "change"]
    pd.testing.assert_frame_equal(parts.table[exact], whole.table[exact])
    assert_allclose(parts.table["log_e"], whole.table["log_e"], rtol=1e-9)


def test_later_rows_withdraw_no_alarm_of_earlier_dates():
    (old, y), (new, labels) = table(400, 1), table(400, 2)
    rng = np.random.default_rng(0)
    old["day"] = days(rng.permutation(800)[:400])
    new["day"] = days(np.concatenate([rng.integers(-2000, -1900, 100), rng.integers(2000, 2100, 300)]))
    found, alarm = nb.checks.watch(nb.BayesianNB({"visits": "poisson"}).fit(old, y)), None
    for start in range(0, 400, 25):
        found = found.update(new[start : start + 25], labels[start : start + 25])
        alarm = alarm or (None if found.alarms.empty else found.alarms["alarm"][0])
        if alarm:
            assert found.alarms["alarm"][0] == alarm
    assert alarm < 100


FIRST_DAY = pd.Timestamp("2023-01-01")
DATES = "elapsed of day"


def days(numbers: np.ndarray) -> pd.Series:
    return pd.Series(FIRST_DAY + pd.to_timedelta(numbers, "D"))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1.5])
@pytest.mark.parametrize(("start", "step"), [(800, 1), (799, 0.1), (350, 0.25), (-800, 1)])
def test_dates_raise_an_alarm_only_if_they_are_earlier(start, step, shift, given):
    (old, y), (new, labels) = table(400, 1), table(400, 2, shift=shift)
    rng = np.random.default_rng(0)
    old["day"] = days(rng.permutation(800)[:400])
    new["day"] = days((start + step * rng.permutation(400)).round())
    clf = nb.BayesianNB({"visits": "poisson"}).fit(old, y)
    found = nb.checks.watch(clf, *((old, y) if given else ())).update(new, labels)
    of_dates = found.table[found.table["column"] == DATES]
    assert of_dates["alarm"].notna().all() == of_dates["alarm"].notna().any() == (start < 0)
    assert {*of_dates["change"]} == ({"earlier dates"} if start < 0 else {""})
    assert ("size" in [*found.alarms["column"]]) == (shift > 0)
    assert (str(found).startswith("No alarm after 400 rows: too little evidence")) == (start >= 0 and not shift)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("first", [40, 200, 1000])
@pytest.mark.parametrize("newest_first", [False, True])
def test_dates_that_are_first_later_and_then_earlier_raise_an_alarm(first, newest_first, given):
    rng = np.random.default_rng(0)
    y, labels = rng.choice(["a", "b"], 400), rng.choice(["a", "b"], first + 400)
    old = pd.DataFrame({"day": days(rng.permutation(800)[:400])})
    later = np.sort(rng.integers(800, 1000, first))[:: -1 if newest_first else 1]
    new = pd.DataFrame({"day": days(np.concatenate([later, rng.integers(-2000, -1900, 400)]))})
    watch = nb.checks.watch(nb.BayesianNB().fit(old, y), *((old, y) if given else ())).update(
        new[:first], labels[:first]
    )
    assert watch.alarms.empty
    found = watch.update(new[first:], labels[first:])
    assert {*found.alarms["column"]} == {DATES}
    assert (found.alarms["alarm"] > first).all()
    assert {*found.alarms["change"]} == {"earlier dates"}


PARTS = ("month", "weekday", "hour")


@pytest.mark.parametrize("span", [0.2, 14, 365])
@pytest.mark.parametrize("labelled", [True, False])
def test_months_weekdays_and_hours_of_a_stream_raise_no_alarm_because_its_rows_lie_in_few_of_them(span, labelled):
    # The rows of a stream come in the order of time, so even those of a whole year begin with one month only.
    rng = np.random.default_rng(0)
    y, labels = rng.choice(["a", "b"], 600), rng.choice(["a", "b"], 600)
    kind = {"kind": rng.choice(["u", "v"], 600)}
    old = pd.DataFrame({"day": days(rng.random(600) * 730), **kind})
    new = pd.DataFrame({"day": days(730 + np.sort(rng.random(600)) * span), **kind})
    for format in ("typed", "text"):
        read = (lambda X: X.assign(day=X["day"].astype(str))) if format == "text" else (lambda X: X)
        clf = nb.BayesianNB({"day": nb.Date("elapsed", *PARTS)}).fit(read(old), y)
        for given in ((), (read(old), y)):
            found = nb.checks.watch(clf, *given).update(read(new), labels if labelled else None)
            assert found.alarms.empty
            assert {*found.table.attrs["unwatched"]} >= {f"{part} of day" for part in PARTS}


@pytest.mark.parametrize("typed", [True, False])
def test_longer_durations_and_other_times_of_day_raise_an_alarm_because_they_are_no_dates(typed):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 400)

    def durations(minutes: np.ndarray) -> pd.DataFrame:
        cells = pd.Series(pd.to_timedelta(minutes, "min"))
        return pd.DataFrame({"took": cells if typed else cells.astype(str).str[-8:]})

    clf = nb.BayesianNB({"took": nb.Date("elapsed", "hour")}).fit(durations(rng.integers(60, 200, 400)), y)
    found = nb.checks.watch(clf).update(durations(rng.integers(160, 300, 400)), y)
    changes = found.alarms.drop_duplicates("column").set_index("column")["change"]
    assert changes["elapsed of took"].startswith("higher values")
    assert "hour of took" in changes


def test_the_command_names_the_parts_of_dates_that_it_does_not_watch(tmp_path, capsys):
    from bayesnb.cli import main

    X, y = pd.DataFrame({"day": days(np.arange(60.0)), "size": np.arange(60) % 7 + 0.5}), ["a", "b"] * 30
    nb.BayesianNB({"day": nb.Date("elapsed", "month")}).fit(X, y).save(tmp_path / "model.bayesnb")
    X.assign(kind=y).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(SystemExit):
        main(["watch", str(tmp_path / "model.bayesnb"), str(tmp_path / "new.csv"), "--target", "kind"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Not watched: month of day Months, weekdays and hours of dates are not watched, because" in said
    assert "Dates raise an alarm only if they are earlier than the learned ones." in said
