"""From a keystroke to pictures on the page, at 100,000 pictures.

    python benchmarks/page.py [--pictures 100000] [--rounds 3]

A library is generated: embeddings of the photographs that pip packages carry, with noise, so that
every picture is another one, and their files for all of them. The page is served as `polyglance
serve` does, in a process of its own, and Chromium, headless, types sentences letter by letter.
Measured in the browser, for each letter: until rows of an answer to a text with this letter or a
later one are in the page, and until their first thumbnail is drawn; and of the service alone, the
answer to the request.
"""

import argparse
import multiprocessing
import os
import platform
import shutil
import tempfile
import time
from multiprocessing.connection import Connection

import numpy as np

SENTENCES = ["a cup of coffee", "eine Katze schaut", "une fusée", "храм в горах", "flores rojas"]
PAUSE = 0.15
"""Seconds between letters."""
WATCH = """() => {
  window.keys = []; window.drawn = []; window.painted = [];
  const box = document.getElementById("q"), grid = document.getElementById("grid");
  box.addEventListener("input", () => window.keys.push(performance.now()), true);
  new MutationObserver(() => {
    const began = performance.now();
    window.drawn.push(began);
    const first = grid.querySelector("img");
    if (!first) return;
    const done = () => requestAnimationFrame(() => window.painted.push([began, performance.now()]));
    if (first.complete && first.naturalWidth) done();
    else first.addEventListener("load", done, { once: true });
  }).observe(grid, { childList: true });
}"""


def serve(pictures: int, folder: str, pipe: Connection) -> None:
    """Serve a generated library until the process is ended; tells its address."""
    from polyglance.data.photographs import photographs
    from polyglance.gallery import Gallery
    from polyglance.runtime import open_model
    from polyglance.serve import Collection
    from polyglance.serve.access.guard import Access
    from polyglance.serve.images.facts import FactTable
    from polyglance.serve.run import run
    from polyglance.serve.service import Service

    model, files = open_model(None), list(photographs())
    real = np.asarray(model.encode_images(files, show_progress=False))
    chance = np.random.default_rng(0)
    rows = chance.integers(0, len(files), pictures)
    vectors = real[rows] + chance.normal(0, 0.6 / np.sqrt(model.dim), (pictures, model.dim))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    paths = [files[row] for row in rows]
    ids = [f"{number:032x}" for number in range(pictures)]
    gallery = Gallery(paths, vectors, [], content=ids, unit=True)
    collection = Collection(model, gallery, [folder])
    # A library has these; without one, 100,000 heads of the same few files would be read first.
    collection.__dict__["_facts"] = FactTable.of([], pictures)
    service = Service(collection)
    service.warm()
    run(service, "127.0.0.1", 0, Access(), ready=pipe.send)


def measure(address: str, rounds: int) -> dict[str, np.ndarray]:
    """Milliseconds, by what was waited for."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        requests: list[float] = []
        page.on("requestfinished", lambda one: requests.append(_time(one)))
        page.goto(address)
        page.locator("#q").press_sequentially("warm", delay=300)
        page.wait_for_timeout(3000)
        page.locator("#q").fill("")
        page.wait_for_timeout(1500)
        requests.clear()
        page.evaluate(WATCH)
        for _ in range(rounds):
            for text in SENTENCES:
                page.locator("#q").press_sequentially(text, delay=1000 * PAUSE)
                page.wait_for_timeout(1000)
                page.locator("#q").fill("")
                page.wait_for_timeout(300)
        keys, drawn, painted = page.evaluate("[window.keys, window.drawn, window.painted]")
        browser.close()
    return {
        "rows of pictures in the page": _waits(keys, [[at, at] for at in drawn]),
        "its first thumbnail drawn": _waits(keys, painted),
        "the service's answer": np.array([one for one in requests if one > 0]),
    }


def _waits(keys: list[float], done: list[list[float]]) -> np.ndarray:
    """From each letter to the end of the first that began after it."""
    found = []
    for key in keys:
        after = [end for start, end in done if start >= key]
        if after:
            found.append(min(after) - key)
    return np.array(found)


def _time(request: object) -> float:
    url, timing = request.url, request.timing  # type: ignore[attr-defined]
    return timing["responseEnd"] if "/v1/search" in url else -1.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=serve, args=(given.pictures, folder, there), daemon=True)
        process.start()
        address = here.recv()
        time.sleep(1)
        load = os.getloadavg()[0]
        found = measure(address, given.rounds)
        process.terminate()
    print(f"{given.pictures:,} pictures, {platform.machine()}, {os.cpu_count()} cores; the load")
    print(f"of the machine was {load:.1f} before and {os.getloadavg()[0]:.1f} after\n")
    print("| from a letter to | letters | p50 ms | p95 ms |\n| --- | ---: | ---: | ---: |")
    for name, values in found.items():
        middle, most = np.quantile(values, [0.5, 0.95])
        print(f"| {name} | {len(values)} | {middle:.0f} | {most:.0f} |")


if __name__ == "__main__":
    main()
