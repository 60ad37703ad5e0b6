"""One image, large."""

import re

import pytest
from playwright.sync_api import expect

from tests.serve.browser.conftest import Opened, results, show_all, type_query


def test_details_of_an_image(photographs: str, opened: Opened) -> None:
    page = opened(photographs)
    show_all(page, "a rocket")
    page.get_by_role("button", name="space/rocket.jpg").click()
    large = page.locator("#large")
    expect(large.get_by_role("heading", name="rocket.jpg")).to_be_visible()
    said = large.locator("dl")
    expect(said).to_contain_text("18 February 2021")
    expect(said).to_contain_text("28.6100, -80.6000")
    expect(said).to_contain_text("space")
    size = large.locator("img").first.evaluate(
        "async (one) => { await one.decode(); return one.naturalWidth; }"
    )
    expect(said).to_contain_text(f"{size} ×")
    expect(large.locator("#captions li")).to_have_count(3)
    expect(large.locator("#others li")).to_have_count(12)
    other = large.locator("#others img").first.get_attribute("alt")
    large.locator("#others button").first.click()
    expect(page.locator("#name")).to_have_text(str(other).split("/")[-1])


def test_an_image_that_cannot_be_shown_has_its_thumbnail(many: str, opened: Opened) -> None:
    page = opened(many)
    page.route("**/v1/images/*", lambda route: route.fulfill(status=404))
    type_query(page, "dog")
    page.locator("#grid button").first.click()
    image = page.locator("#large .picture img")
    expect(image).to_have_attribute("src", re.compile("/v1/thumbnails/"))
    expect(image).to_have_js_property("naturalWidth", 80)


def test_similar_pictures(photographs: str, opened: Opened) -> None:
    page = opened(photographs)
    show_all(page, "a rocket")
    page.get_by_role("button", name="space/rocket.jpg").click()
    page.locator("#similar").click()
    expect(page.locator("#like")).to_contain_text("space/rocket.jpg")
    expect(page.locator("#large")).to_be_hidden()
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#like")).to_be_hidden()


def test_from_picture_to_picture(many: str, opened: Opened) -> None:
    page = opened(many)
    type_query(page, "dog")
    names = results(page)
    page.locator("#grid button").first.click()
    expect(page.get_by_role("button", name="Previous picture")).to_be_disabled()
    page.get_by_role("button", name="Next picture").click()
    expect(page.locator("#name")).to_have_text(names[1])
    page.keyboard.press("ArrowRight")
    expect(page.locator("#name")).to_have_text(names[2])
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#name")).to_have_text(names[1])
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#grid button").nth(1)).to_be_focused()


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_map_is_warm_where_it_matched(pasted: str, opened: Opened, side: str) -> None:
    page = opened(pasted)
    show_all(page, "a cat")
    page.get_by_role("button", name=f"{side}.jpg").click()
    heat = page.get_by_role("button", name="Show what matched")
    heat.click()
    canvas = page.locator("canvas")
    expect(canvas).to_be_visible()
    expect(heat).to_have_attribute("aria-pressed", "true")
    reds = canvas.evaluate(
        """one => {
          const { width, height } = one;
          const data = one.getContext("2d").getImageData(0, 0, width, height).data;
          const halves = [0, 0];
          for (let place = 0; place < width * height; place += 1)
            halves[(place % width) * 2 < width ? 0 : 1] += data[4 * place];
          return halves;
        }"""
    )
    assert (reds[0] > reds[1]) == (side == "left")
    same = page.evaluate(
        """() => {
          const [image, map] = ["img", "canvas"].map((one) =>
            document.querySelector(`.picture ${one}`).getBoundingClientRect());
          return Math.abs(image.width - map.width) + Math.abs(image.height - map.height);
        }"""
    )
    assert same < 1
    heat.click()
    expect(canvas).to_be_hidden()


def test_an_uploaded_picture_has_no_map(many: str, opened: Opened, tmp_path) -> None:
    from tests.everyday.conftest import write_picture

    page = opened(many)
    page.locator("#file").set_input_files(write_picture(tmp_path / "given.png", 7))
    expect(page.locator("#grid li")).to_have_count(40)
    page.locator("#grid button").first.click()
    expect(page.locator("#heat")).to_be_hidden()
