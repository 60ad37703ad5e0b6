"""Languages, filters, the token, colours and accessibility."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from polyglance.serve.routes.page import FILES
from tests.serve.browser.conftest import Opened, results, show_all, type_query
from tests.serve.test_command import TOKEN

WORDS = json.loads((FILES / "words.json").read_text(encoding="utf-8"))
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


@pytest.mark.parametrize("code", WORDS)
def test_the_page_speaks(many: str, opened: Opened, code: str) -> None:
    page = opened(many, locale=code)
    root = page.locator("html")
    expect(root).to_have_attribute("lang", code)
    expect(root).to_have_attribute("dir", "rtl" if code == "ar" else "ltr")
    expect(page.locator("#q")).to_have_attribute("placeholder", WORDS[code]["hint"])
    for part in page.locator("[data-word]").all():
        assert part.text_content() == WORDS[code][str(part.get_attribute("data-word"))]
    expect(page.locator("#language")).to_have_value(code)
    type_query(page, "dog")
    count = page.evaluate("code => (40).toLocaleString(code)", code)
    expect(page.locator("#status")).to_have_text(WORDS[code]["found"].replace("{n}", count))


def test_another_language_is_chosen_and_kept(many: str, opened: Opened) -> None:
    page = opened(many, locale="xx")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.locator("#language").select_option("ja")
    expect(page.locator("#q")).to_have_attribute("placeholder", WORDS["ja"]["hint"])
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "ja")


def test_queries_are_written_in_their_own_direction(many: str, opened: Opened) -> None:
    page = opened(many, locale="ar")
    page.locator("#q").fill("كلب")
    direction = "one => getComputedStyle(one).direction"
    assert page.locator("#q").evaluate(direction) == "rtl"
    page.locator("#q").fill("dog")
    assert page.locator("#q").evaluate(direction) == "ltr"


def test_filters(photographs: str, opened: Opened) -> None:
    page = opened(photographs)
    page.locator("#filters summary").click()
    names = ["", "ground", "home", "home/animals", "space", "travel"]
    expect(page.locator("#folder option")).to_have_count(len(names))
    values = page.locator("#folder option").evaluate_all("all => all.map((one) => one.value)")
    assert values == names
    page.locator("#folder").select_option("home")
    show_all(page, "a cat")
    assert all(name.startswith("home/") for name in results(page))
    page.locator("#from").fill("2024-01-01")
    expect(page.locator("#grid li")).to_have_count(0)
    page.get_by_role("button", name="Clear filters").click()
    expect(page.locator("#grid img").first).to_have_attribute("alt", "home/animals/cat.jpg")
    page.locator("#grid button").first.click()
    page.get_by_role("button", name="home/animals", exact=True).click()
    expect(page.locator("#folder")).to_have_value("home/animals")
    expect(page.locator("#grid li")).to_have_count(1)


def test_the_page_asks_for_the_token(guarded: str, opened: Opened) -> None:
    page = opened(guarded)
    page.locator("#q").fill("dog")
    asked = page.get_by_label("This service needs its token")
    expect(asked).to_be_focused()
    asked.fill("wrong")
    page.keyboard.press("Enter")
    expect(asked).to_have_value("")
    asked.fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#grid li").first).to_be_visible()
    # Thumbnails need the token, too.
    expect(page.locator("#grid img").first).not_to_have_js_property("naturalWidth", 0)
    assert page.context.cookies() == []


def test_an_unreachable_service_is_reported(many: str, opened: Opened) -> None:
    page = opened(many)
    page.route("**/v1/**", lambda route: route.abort())
    page.locator("#q").fill("dog")
    expect(page.locator("#status")).to_have_text("The service does not answer")


def findings(page: Page) -> list[str]:
    """Serious and critical findings of axe, with what they are about."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"color_scheme": "dark"},
        {"locale": "ar"},
        {"locale": "ja", "color_scheme": "dark", **PHONE},
        PHONE,
    ],
    ids=["light", "dark", "right to left", "dark phone", "phone"],
)
def test_axe_finds_nothing_serious(photographs: str, opened: Opened, options: dict) -> None:
    page = opened(photographs, **options)
    page.locator("#filters summary").click()
    expect(page.locator("#folder option")).not_to_have_count(0)
    show_all(page, "a cat")
    expect(page.locator("#grid img").first).to_have_js_property("complete", True)
    assert findings(page) == []
    page.locator("#grid button").first.click()
    expect(page.locator("#captions li").first).to_be_visible()
    page.locator("#heat").click()
    expect(page.locator("canvas")).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(20, 20, 20)") == (options.get("color_scheme") == "dark")


def test_axe_finds_nothing_serious_in_what_is_rare(many: str, guarded: str, opened: Opened) -> None:
    page = opened(many)
    type_query(page, "red snwo")
    expect(page.locator("#meant")).to_be_visible()
    assert findings(page) == []
    page = opened(guarded)
    page.locator("#q").fill("dog")
    expect(page.locator("#ask")).to_be_visible()
    assert findings(page) == []


def test_what_a_screen_reader_hears(many: str, opened: Opened) -> None:
    page = opened(many)
    type_query(page, "dog")
    tree = page.locator("body").aria_snapshot()
    assert '- heading "Polyglance" [level=1]' in tree
    assert '- searchbox "Search pictures"' in tree
    assert re.search(r"- status:.*\n? *.*40 pictures shown", tree)
    assert len(re.findall(r'- button "\d\d\.png"', tree)) == 40
