"""Searching in a real browser."""

import base64
import re
from itertools import groupby
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.everyday.conftest import write_picture
from tests.serve.browser.conftest import Opened, asks_for, results, show_all, type_query

GIVE = """([kind, data]) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const files = new DataTransfer();
  files.items.add(new File([bytes], "given.png", { type: "image/png" }));
  const options = { bubbles: true, cancelable: true };
  document.dispatchEvent(kind === "paste"
    ? new ClipboardEvent("paste", { ...options, clipboardData: files })
    : new DragEvent("drop", { ...options, dataTransfer: files }));
}"""


def boxes(page: Page) -> list[dict[str, float]]:
    return page.locator("#grid li").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().toJSON())"
    )


def test_results_come_as_one_types(photographs: str, opened: Opened) -> None:
    page = opened(photographs)
    expect(page.locator("#grid li")).to_have_count(0)
    show_all(page, "a cat")
    expect(page.locator("#grid img").first).to_have_attribute("alt", "home/animals/cat.jpg")
    expect(page.locator("#status")).to_contain_text("shown")
    page.locator("#q").fill("")
    expect(page.locator("#grid li")).to_have_count(0)
    show_all(page, "猫")
    expect(page.locator("#grid img").first).to_have_attribute("alt", "home/animals/cat.jpg")


def test_an_address_keeps_the_query(many: str, opened: Opened) -> None:
    page = opened(many)
    type_query(page, "red dog")
    before = results(page)
    page.wait_for_url("**/#q=red+dog")  # when nobody types any more
    page.reload()
    expect(page.locator("#q")).to_have_value("red dog")
    expect(page.locator("#grid li")).to_have_count(40)
    assert results(page) == before


@pytest.mark.parametrize("locale", ["en", "ar"])
@pytest.mark.parametrize("width", [1200, 380])
def test_rows_fill_the_width(many: str, opened: Opened, locale: str, width: int) -> None:
    page = opened(many, locale=locale, viewport={"width": width, "height": 800})
    type_query(page, "dog")
    expect(page.locator("#grid li")).to_have_count(40)
    found = boxes(page)
    inside = page.locator("#grid").evaluate("grid => grid.clientWidth")
    rows = [list(row) for _, row in groupby(found, lambda box: round(box["top"]))]
    assert len(rows) > 2
    for row in rows[:-1]:
        assert sum(box["width"] for box in row) + 6 * (len(row) - 1) == pytest.approx(inside, abs=1)
        assert all(box["width"] / box["height"] == pytest.approx(80 / 64, abs=0.01) for box in row)
    # The last row is not stretched, unless it is full.
    assert rows[-1][0]["height"] <= (190 if width > 600 else 110)
    first, second = found[:2]
    assert (first["left"] < second["left"]) == (locale == "en")
    # Nothing sticks out to the side.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_more(many: str, opened: Opened) -> None:
    page = opened(many)
    type_query(page, "dog")
    expect(page.locator("#grid li")).to_have_count(40)
    first = results(page)
    page.get_by_role("button", name="More").click()
    expect(page.locator("#grid li")).to_have_count(60)
    assert results(page)[:40] == first
    assert len(set(results(page))) == 60
    expect(page.locator("#grid button").nth(40)).to_be_focused()
    expect(page.locator("#more")).to_be_hidden()


def test_pictures_that_stay_are_not_made_again(many: str, opened: Opened) -> None:
    page = opened(many)
    type_query(page, "dog")
    page.locator("#grid li").evaluate_all("all => all.forEach((one) => { one.kept = true; })")
    before = set(results(page))
    page.locator("#q").fill("")
    type_query(page, "red")
    kept = page.locator("#grid li").evaluate_all(
        "all => all.filter((one) => one.kept).map((one) => one.querySelector('img').alt)"
    )
    assert set(kept) <= before
    # The box was empty in between, so that all are new; as one types on, they stay.
    assert kept == []
    page.locator("#grid li").evaluate_all("all => all.forEach((one) => { one.kept = true; })")
    page.locator("#q").press_sequentially(" dog")
    expect(page.locator("#status")).to_contain_text("shown")
    expect(page).to_have_url(re.compile(r"#q=red\+dog$"))
    assert page.locator("#grid li").evaluate_all("all => all.some((one) => one.kept)")


@pytest.mark.parametrize("kind", ["paste", "drop", "choose"])
def test_a_picture_is_searched_by(many: str, opened: Opened, tmp_path: Path, kind: str) -> None:
    page, given = opened(many), write_picture(tmp_path / "given.png", 7)
    with page.expect_response(re.compile("/v1/search")) as answer:
        if kind == "choose":
            page.locator("#file").set_input_files(given)
        else:
            page.evaluate(GIVE, [kind, base64.b64encode(given.read_bytes()).decode()])
    assert (answer.value.request.method, answer.value.status) == ("POST", 200)
    expect(page.locator("#grid img").first).to_have_attribute("alt", "07.png")
    expect(page.locator("#like")).to_contain_text("given.png")
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#grid li")).to_have_count(0)
    expect(page.locator("#q")).to_be_focused()


def test_the_message_for_a_file_that_is_no_image(many: str, opened: Opened) -> None:
    page = opened(many)
    page.evaluate(GIVE, ["paste", base64.b64encode(b"<svg onload=alert(1)>").decode()])
    expect(page.locator("#status")).to_contain_text("cannot be read")


def test_nothing_like_that(strict: str, opened: Opened) -> None:
    page = opened(strict)
    type_query(page, "dog")
    expect(page.locator("#status")).to_contain_text("Nothing here looks like that")
    page.get_by_role("button", name="Show the closest all the same").click()
    expect(page.locator("#grid li")).to_have_count(6)
    expect(page.locator("#closest")).to_be_hidden()


def test_filters_that_leave_no_picture(strict: str, opened: Opened) -> None:
    page = opened(strict, locale="de")
    type_query(page, "dog")
    expect(page.locator("#status")).to_contain_text("Nichts hier sieht so aus")
    page.route("**/v1/search?*", lambda route: route.continue_(url=f"{route.request.url}&tag=sea"))
    page.locator("#q").fill("red dog")
    expect(page.locator("#status")).to_have_text("Die Filter lassen kein Bild übrig")
    expect(page.locator("#closest")).to_be_hidden()


def test_words_that_the_model_hardly_knows(strict: str, opened: Opened) -> None:
    page = opened(strict, locale="de")

    def hardly(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "reason": "hardly_known"})

    page.route("**/v1/search?*", hardly)
    type_query(page, "dog")
    expect(page.locator("#status")).to_contain_text("Das Modell kennt diese Wörter kaum")
    expect(page.locator("#closest")).to_be_visible()


def test_a_service_that_is_busy_is_asked_again(many: str, opened: Opened) -> None:
    page = opened(many, locale="de")
    answers = [503, 503]

    def busy(route: Route) -> None:
        if not answers:
            route.continue_()
            return
        message = {"error": {"message": "the images are still being indexed"}}
        route.fulfill(status=answers.pop(), headers={"retry-after": "1"}, json=message)

    page.route("**/v1/search?*", busy)
    page.locator("#q").fill("dog")
    expect(page.locator("#status")).to_have_text(
        "Der Dienst ist beschäftigt; die Ergebnisse folgen"
    )
    expect(page.locator("#grid li")).to_have_count(40)


def test_did_you_mean(many: str, opened: Opened) -> None:
    page = opened(many)
    type_query(page, "red snwo")
    meant = page.locator("#meant button")
    expect(meant).to_have_text("red snow")
    meant.click()
    expect(page.locator("#q")).to_have_value("red snow")
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#meant")).to_be_hidden()
    expect(page).to_have_url(re.compile(r"#q=red\+snow$"))


def test_no_keyboard_but_the_arrows(many: str, opened: Opened) -> None:
    page = opened(many)
    expect(page.locator("#q")).to_be_focused()
    type_query(page, "dog")
    buttons = page.locator("#grid button")
    page.keyboard.press("ArrowDown")
    expect(buttons.nth(0)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    across = page.evaluate("document.activeElement.getBoundingClientRect().left")
    assert across == pytest.approx(boxes(page)[1]["left"], abs=60)
    page.keyboard.press("ArrowUp")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(buttons.nth(39)).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator("#large")).to_be_visible()
    expect(page.locator("#name")).to_have_text(results(page)[0])
    page.keyboard.press("Escape")
    expect(page.locator("#large")).to_be_hidden()
    expect(buttons.nth(0)).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    # One stop for the tabulator in the whole grid.
    tabs = buttons.evaluate_all("all => all.filter((one) => one.tabIndex === 0).length")
    assert tabs == 1


def test_thumbnails_come_when_they_are_in_sight(many: str, opened: Opened) -> None:
    page = opened(many, viewport={"width": 400, "height": 500})
    type_query(page, "dog")
    images = page.locator("#grid img")
    expect(images.first).to_have_js_property("complete", True)
    expect(images.first).to_have_attribute("src", re.compile("/v1/thumbnails/"))
    assert images.last.get_attribute("src") is None
    images.last.scroll_into_view_if_needed()
    expect(images.last).to_have_attribute("src", re.compile("/v1/thumbnails/"))


def test_few_thumbnails_are_fetched_at_once(many: str, opened: Opened) -> None:
    page, held = opened(many), list[Route]()
    page.route("**/v1/thumbnails/*", lambda route: held.append(route))
    begun = page.locator("#grid img[src]")
    page.locator("#q").fill("dog")
    expect(begun).to_have_count(4)
    page.wait_for_timeout(500)
    assert len(held) == 4
    held[0].continue_()
    expect(begun).to_have_count(5)
    # A search is not held up by thumbnails that do not come.
    with page.expect_response(lambda answer: asks_for(answer.url, "dog snow")):
        page.locator("#q").fill("dog snow")
    expect(page.locator("#grid")).to_have_attribute("aria-busy", "false")
    page.unroute_all(behavior="ignoreErrors")
