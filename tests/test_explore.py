"""The interactive page shows the numbers of the library, makes no network request and can be used by keyboard."""

from pathlib import Path

import numpy as np
import pytest

from bayesnb import BayesianNB, Categorical, Dirichlet, datasets
from bayesnb.errors import BoundaryError
from bayesnb.families.trials import CategoryCounts, Coded
from bayesnb.inference.believed import Believed
from bayesnb.inference.draws import PosteriorDraws
from bayesnb.inference.intervals import intervals_of
from bayesnb.model import NaiveBayes, Statistics, normalize

PAGE = Path(__file__).parent.parent / "docs" / "explore.html"
pytestmark = pytest.mark.browser

PATIENCE = 300_000
"""Milliseconds to wait for what the page will do: the browser may have to share the machine with many processes."""


class Page:
    """The page in a browser, with its network requests and its console messages."""

    def __init__(self, tab, hash=""):
        self.tab, self.asked, self.said = tab, [], []
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on("console", lambda message: self.said.append(message.text))
        tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.open(hash)

    def open(self, hash):
        """Load the page anew: a change of the hash alone is noticed some time later."""
        self.tab.goto("about:blank")
        self.tab.goto(PAGE.as_uri() + hash, wait_until="load")

    def state(self):
        return self.tab.evaluate("state")

    def says(self, text):
        """Wait until the status line has the text. (The content policy of the page forbids to wait by a script.)"""
        from playwright.sync_api import expect

        expect(self.tab.locator("#said")).to_contain_text(text, timeout=PATIENCE)

    def shown(self):
        """The table of estimates, {estimate: [p(no), p(yes)]} in full precision, or None where it shows "none"."""
        rows = self.tab.evaluate(
            """[...document.querySelectorAll("#estimates tr")].map(row => [row.id.slice(4),
            [...row.querySelectorAll("td")].map(cell => [cell.dataset.value ?? null, cell.textContent])])"""
        )
        for _, cells in rows:
            for value, text in cells:
                if value is not None and 0.0005 < float(value) < 0.9995:
                    assert text == f"{float(value):.3f}" or abs(float(text) - float(value)) < 0.000501
        return {name: None if cells[0][0] is None else [float(v) for v, _ in cells] for name, cells in rows}

    def slide(self, where, value):
        self.tab.evaluate(
            """([where, value]) => { const slider = document.getElementById(where); slider.value = value;
            slider.dispatchEvent(new Event("input", { bubbles: true })); }""",
            [where, value],
        )


@pytest.fixture
def page(browser):
    page = Page(browser.new_page(viewport={"width": 1200, "height": 900}))
    yield page
    page.tab.close()


def answered(state):
    """The library's answer for the counts, priors and day of the page."""
    play, *tables = state["tables"]
    labels = ("no", "yes")
    statistics = Statistics(
        labels,
        np.array(play["counts"][0], float),
        {t["name"]: CategoryCounts(np.array(t["counts"], float)[:, None, :], (tuple(t["levels"]),)) for t in tables},
    )
    model = NaiveBayes(
        {t["name"]: Categorical(Dirichlet(t["m"] * np.array(t["p"]))) for t in tables},
        Dirichlet(play["m"] * np.array(play["p"])),
    )
    posterior = model.posterior(statistics)
    day = {t["name"]: Coded(np.array([[state["day"][t["name"]]]]), (tuple(t["levels"]),)) for t in tables}
    found = {}
    for estimate in ("mle", "map", "mean", "predictive"):
        try:
            found[estimate] = np.exp(normalize(posterior.log_joint(day, 1, estimate)))[0]
        except BoundaryError:
            found[estimate] = None
    tail = (1 - state["prob"]) / 2
    answers = PosteriorDraws(Believed(posterior), 4000, 0)
    low, middle, high = intervals_of(answers, True, day, 1, [tail, 0.5, 1 - tail])[0][0].T
    return found | {"lower": low, "median": middle, "upper": high}


def assert_agrees(page):
    shown, expected = page.shown(), answered(page.state())
    assert set(shown) == set(expected)
    for name, value in expected.items():
        if value is None:
            assert shown[name] is None
        else:
            np.testing.assert_allclose(shown[name], value, rtol=0, atol=1e-8, err_msg=name)


def test_the_page_opens_with_mitchells_day_and_the_probabilities_of_the_estimator(page):
    X, y = datasets.play_tennis()
    today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    shown = page.shown()
    for estimate in ("mle", "map", "mean", "predictive"):
        expected = BayesianNB(estimate=estimate).fit(X, y).predict_proba(today)[0]
        np.testing.assert_allclose(shown[estimate], expected, rtol=0, atol=1e-12)
    interval = BayesianNB().fit(X, y).predict_interval(today, prob=0.89).to_numpy().reshape(2, 3)
    np.testing.assert_allclose([shown[n] for n in ("lower", "median", "upper")], interval.T, rtol=0, atol=1e-8)
    page.says("0.735")


def test_the_named_priors_of_the_page_are_those_of_the_library(page):
    for preset in ("Laplace", "Jeffreys", "Perks", "BDeu, 5 rows", "nearly none"):
        page.tab.get_by_role("button", name=preset).click()
        assert_agrees(page)
        if preset == "BDeu, 5 rows":
            assert page.shown()["predictive"][0] == pytest.approx(0.742370, abs=1e-6)


def test_after_any_change_the_page_shows_the_numbers_of_the_library(page):
    rng = np.random.default_rng(7)
    tables = page.state()["tables"]
    for _ in range(6):
        table = tables[rng.integers(len(tables))]
        name, level = table["name"], int(rng.integers(len(table["levels"])))
        page.slide(f"m-{name}", round(float(rng.uniform(0.1, 20)), 1))
        page.slide(f"p-{name}-{level}", round(float(rng.uniform(0.01, 0.99)), 2))
        label = "" if name == "play" else f"-{rng.choice(['no', 'yes'])}"
        page.tab.locator(f"#n-{name}-{level}{label}").fill(str(int(rng.integers(0, 40))))
        asked = rng.choice([t["name"] for t in tables[1:]])
        page.tab.locator(f"#day-{asked}").select_option(str(rng.integers(-1, 2)))
        page.slide("prob", int(rng.integers(50, 99)))
        assert_agrees(page)
    for times in ("Ten times the rows", "A tenth"):
        page.tab.get_by_role("button", name=times).click()
        assert_agrees(page)
    assert page.said == []


def test_more_rows_narrow_the_interval_and_do_not_change_the_counting_estimate(page):
    before = page.shown()
    page.tab.get_by_role("button", name="Ten times the rows").click()
    after = page.shown()
    assert after["upper"][0] - after["lower"][0] < 0.6 * (before["upper"][0] - before["lower"][0])
    np.testing.assert_allclose(after["mle"], before["mle"], atol=1e-12)
    page.tab.get_by_role("button", name="The fourteen days again").click()
    assert page.shown() == before


@pytest.mark.parametrize("typed", ["-3", "1e308", "", "2e9"])
def test_a_bad_count_is_marked_and_the_one_from_before_stays_in_use(page, typed):
    before, box = page.shown(), page.tab.locator("#n-wind-0-no")
    box.click()
    page.tab.keyboard.press("Control+A")
    page.tab.keyboard.press("Delete")
    # Key by key: what is typed on the way to a bad number is a good one.
    page.tab.keyboard.type(typed)
    assert box.get_attribute("aria-invalid") == "true"
    note = page.tab.locator(f"#{box.get_attribute('aria-describedby')}")
    assert note.is_visible()
    assert note.inner_text().endswith("2 is in use.")
    assert "One number is not used" in page.tab.inner_text("#wrong")
    assert page.shown() == before
    page.slide("m-outlook", 7)
    assert (box.get_attribute("aria-invalid"), page.state()["tables"][4]["counts"][0]) == ("true", [2, 3])
    box.fill("4")
    assert box.get_attribute("aria-invalid") == "false"
    assert (page.tab.inner_text("#wrong"), note.inner_text()) == ("", "")
    assert page.state()["tables"][4]["counts"][0] == [4, 3]


def test_the_address_of_the_page_restores_every_setting(page):
    from playwright.sync_api import expect

    page.says("0.735")
    assert "#" not in page.tab.url
    page.tab.select_option("#day-wind", "-1")
    page.tab.locator("#n-humidity-1-yes").fill("9.5")
    page.slide("p-outlook-1", 0.5)
    page.slide("m-play", 6)
    page.slide("prob", 95)
    page.tab.wait_for_url("**#day=0,2,0,-1&prob=95&m.play=6&p.outlook=*&n.humidity=4,1,3,9.5", timeout=PATIENCE)
    state, shown = page.state(), page.shown()
    page.tab.reload()
    assert (page.state(), page.shown()) == (state, shown)
    assert_agrees(page)
    page.tab.goto(PAGE.as_uri() + "#m.wind=5")
    expect(page.tab.locator("#m-wind")).to_have_value("5", timeout=PATIENCE)
    assert page.state()["tables"][4]["m"] == 5
    assert page.state()["day"]["wind"] == 1


def test_what_an_address_says_wrongly_is_named_and_not_used(page):
    for part in ("m.wind=-1", "n.play=5", "n.play=5,x", "p.wind=0.5,0.6", "day=9,0,0,0", "prob=100", "<b>=1", "%"):
        page.open(f"#{part}&m.play=4")
        state = page.state()
        assert (state["tables"][0]["m"], state["prob"]) == (4, 0.89)
        assert part in page.tab.inner_text("#wrong")
        assert_agrees(page)


def test_a_probability_that_is_not_certain_is_never_shown_as_0_or_1(page):
    page.open("#n.outlook=3000000,0,2,0,4,3&n.humidity=4000000,0,0,6")
    assert page.shown()["upper"][0] > 0.9995
    texts = page.tab.evaluate("""["lower", "median", "upper", "mean", "predictive"].flatMap(name =>
        [...document.querySelectorAll(`#row-${name} td`)].map(cell => cell.textContent))""")
    assert ">0.999" in texts
    assert "<0.001" in texts
    assert not {"0.000", "1.000"} & set(texts)


def test_the_keyboard_moves_a_slider_and_the_status_line_announces_it(page):
    page.tab.locator("#day-wind").focus()
    for _ in range(20):
        page.tab.keyboard.press("Tab")
        if page.tab.evaluate("document.activeElement.id") == "m-play":
            break
    assert page.tab.evaluate("document.activeElement.id") == "m-play"
    outline = page.tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    before = page.shown()["predictive"]
    page.tab.keyboard.press("End")
    assert page.state()["tables"][0]["m"] == 20
    assert page.shown()["predictive"] != before
    said = f"{page.shown()['predictive'][0]:.3f}"
    page.says(said)
    assert page.tab.locator("#said").get_attribute("aria-live") == "polite"


def test_every_control_has_an_accessible_name(page):
    unnamed = page.tab.evaluate(
        """[...document.querySelectorAll("input, select, button")].filter(one =>
        !(one.labels && one.labels.length && [...one.labels].some(label => label.textContent.trim()))
        && !one.textContent.trim()).map(one => one.id)"""
    )
    assert unnamed == []
    assert len(page.tab.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")) == len(
        set(page.tab.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)"))
    )


@pytest.mark.parametrize("width", [360, 700, 1200])
def test_the_page_fits_the_screen_and_makes_no_network_request(browser, width):
    page = Page(browser.new_page(viewport={"width": width, "height": 800}))
    page.tab.wait_for_load_state("networkidle")
    overflow = page.tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    page.tab.close()
    assert overflow is False
    assert [url for url in page.asked if not url.startswith("data:")] == [PAGE.as_uri()]
    assert page.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_a_contrast_of_at_least_4_5_to_1(browser, scheme):
    page = Page(browser.new_page(color_scheme=scheme))
    colours = page.tab.evaluate(
        """Object.fromEntries(["ground", "panel", "ink", "quiet", "no", "yes"].map(name =>
        [name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()]))"""
    )
    page.tab.close()

    def luminance(colour):
        c = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    for text in ("ink", "quiet", "no", "yes"):
        for ground in ("ground", "panel"):
            high, low = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)
