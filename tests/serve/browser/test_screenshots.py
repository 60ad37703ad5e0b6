"""Screenshots of real searches, for the docs.

POLYGLANCE_SCREENSHOTS=docs/screenshots pytest tests/serve/browser/test_screenshots.py
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.serve.browser.conftest import Opened
from tests.serve.browser.test_interface import PHONE

WHERE = os.environ.get("POLYGLANCE_SCREENSHOTS")
pytestmark = pytest.mark.skipif(not WHERE, reason="POLYGLANCE_SCREENSHOTS names no folder")
DESK = {"viewport": {"width": 1100, "height": 700}}


def keep(page: Page, name: str) -> None:
    """Write what the page shows, when its images are there."""
    seen = "all => all.filter((one) => one.src && one.getBoundingClientRect().top < innerHeight)"
    page.locator("img").evaluate_all(
        f"async (all) => Promise.all(({seen})(all).map((one) => one.decode()))"
    )
    folder = Path(str(WHERE))
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.jpg", type="jpeg", quality=80)


def test_a_search(photographs: str, opened: Opened) -> None:
    page = opened(photographs, **DESK)
    page.locator("#q").fill("a flower")
    expect(page.locator("#grid img").first).to_have_attribute("alt", "travel/flower.jpg")
    keep(page, "search")


def test_what_matched(pasted: str, opened: Opened) -> None:
    page = opened(pasted, color_scheme="dark", **DESK)
    page.locator("#q").fill("a cat")
    page.get_by_role("button", name="right.jpg").click()
    page.locator("#heat").click()
    expect(page.locator("canvas")).to_be_visible()
    keep(page, "heat")


def test_from_the_right_on_a_phone(photographs: str, opened: Opened) -> None:
    page = opened(photographs, locale="ar", **PHONE)
    page.locator("#q").fill("زهرة")
    expect(page.locator("#grid img").first).to_have_attribute("alt", "travel/flower.jpg")
    keep(page, "phone")
