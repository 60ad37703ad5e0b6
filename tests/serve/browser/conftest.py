"""A browser, and services of photographs and of many small images.

These tests need Playwright and axe (`polyglance[dev]`) and a Chromium that is on the path, as
Debian's package `chromium` is; none is downloaded.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("playwright", reason="Playwright is not installed: the page was not tested")
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from polyglance.errors import PolyglanceError
from tests.everyday.conftest import write_picture
from tests.serve.browser.photographs import paste_beside, write_photographs
from tests.serve.test_command import TOKEN
from tests.test_missing_packages import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 90_000
"""Milliseconds: machines that run tests may be busy with others."""
MANY = 60
"""Pictures of which a page shows 40."""
expect.set_options(timeout=PATIENCE)


@contextmanager
def served(place: Path, *words: object, **variables: str) -> Iterator[tuple[str, Path]]:
    """The address of `polyglance serve`, and the file of its log."""
    log = place / "log"
    own = {"PYTHONPATH": str(ROOT / "src"), "POLYGLANCE_CACHE": str(place / "cache")}
    command = [sys.executable, "-m", "polyglance", "serve", *map(str, words), "--port", "0"]
    with log.open("w") as errors:  # a pipe that nobody reads would stop the service
        process = subprocess.Popen(
            command,
            env={**os.environ, "OMP_NUM_THREADS": "1", **own, **variables},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://[^ ]+", line)
        assert address is not None, line + log.read_text()
        yield address[0].strip(), log
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in log.read_text()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, headless."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed: the page was not tested")
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start where root runs the tests.
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service of photographs, with the model that the package carries."""
    place = tmp_path_factory.mktemp("photographs")
    try:
        write_photographs(place / "pictures")
    except PolyglanceError as problem:
        pytest.skip(str(problem))
    with served(place, place / "pictures") as (address, _):
        yield address


@pytest.fixture(scope="session")
def many(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service of many small images, with a model of five words."""
    place = tmp_path_factory.mktemp("many")
    for number in range(MANY):
        write_picture(place / "pictures" / f"{number:02}.png", number)
    with served(place, place / "pictures", "--model", model_folder) as (address, _):
        yield address


Opened = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens the page of a service, with options of a browser context such as `locale`.

    When the test is over, nothing may have come from elsewhere, and nothing may have failed.
    """
    contexts: list[BrowserContext] = []
    asked: list[str] = []
    said: list[str] = []
    allowed: list[str] = []
    with ExitStack() as stack:

        def open_page(address: str, **options: object) -> Page:
            context = browser.new_context(**{"locale": "en-GB", **options})  # type: ignore[arg-type]
            stack.callback(context.close)
            contexts.append(context)
            allowed.append(address)
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("console", lambda line: said.append(line.text) if is_fault(line) else None)
            page.goto(address)
            expect(page.locator("#q")).to_have_attribute("placeholder", re.compile(".+"))
            return page

        yield open_page
        here = (*allowed, *(f"blob:{one}" for one in allowed), "data:", "about:")
        assert [url for url in asked if not url.startswith(here)] == []
        assert said == []


def is_fault(line: object) -> bool:
    """Whether a line of the console tells of a fault; that a request was refused is none."""
    kind, text = line.type, line.text  # type: ignore[attr-defined]
    return kind == "error" and not text.startswith("Failed to load resource")


def results(page: Page) -> list[str]:
    """Names of the images that are shown."""
    return page.locator("#grid img").evaluate_all("all => all.map((one) => one.alt)")


def type_query(page: Page, text: str) -> None:
    """Type as people do, and wait until what is shown is of the whole text."""
    with page.expect_response(lambda answer: asks_for(answer.url, text)):
        page.locator("#q").press_sequentially(text)
    expect(page.locator("#grid")).to_have_attribute("aria-busy", "false")


def show_all(page: Page, text: str) -> None:
    """Search, and show all images if none of them looks like the text to the model."""
    type_query(page, text)
    expect(page.locator("#status")).not_to_be_empty()
    if page.locator("#closest").is_visible():
        page.locator("#closest").click()
    expect(page.locator("#grid li").first).to_be_visible()


def asks_for(url: str, text: str) -> bool:
    """Whether an address is a search for a text."""
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(url)
    return parts.path == "/v1/search" and parse_qs(parts.query).get("q") == [text]


@pytest.fixture(scope="session")
def pasted(photographs: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service of two images: a cat on the left, and on the right."""
    from polyglance.data.photographs import photographs as installed

    place = tmp_path_factory.mktemp("pasted")
    found = {one.name: path for path, one in installed().items()}
    cat, wall = found["cat"], found["brick"]
    paste_beside(cat, wall, place / "pictures" / "left.jpg")
    paste_beside(wall, cat, place / "pictures" / "right.jpg")
    with served(place, place / "pictures") as (address, _):
        yield address


@pytest.fixture(scope="session")
def guarded(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that needs a token."""
    place = tmp_path_factory.mktemp("guarded")
    write_picture(place / "pictures" / "one.png", 1)
    with served(place, place / "pictures", "--model", model_folder, POLYGLANCE_TOKEN=TOKEN) as (
        address,
        _,
    ):
        yield address


@pytest.fixture(scope="session")
def strict(
    strict_folder: Path, pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a service whose model says that no image looks like anything."""
    place = tmp_path_factory.mktemp("strict")
    with served(place, pictures, "--model", strict_folder) as (address, _):
        yield address
