"""From a keystroke to pictures on the page, at 100,000 pictures.

    python benchmarks/page.py [--pictures 100000] [--rounds 3]

A library is generated: embeddings of the photographs that pip packages carry, with noise, so that
every picture is another one; thumbnails and sides are theirs, made before, as a library has them.
The page is served as `polyglance serve` does, in a process of its own, and Chromium, headless,
types sentences letter by letter. Measured in the browser, for each letter: until an answer to a
text with this letter or a later one is in the page, and, where it has pictures, until the first
thumbnail is drawn; and of the service alone, the answer to the request.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from polyglance.studies.running.machine import commit, cpu_model, memory_size

SENTENCES = ["a cup of coffee", "eine Katze schaut", "une fusée", "храм в горах", "flores rojas"]
Moment = dict[str, Any]
"""A text, and when it was there (`at`)."""
PAUSE = 0.15
"""Seconds between letters."""
WATCH = """() => {
  window.keys = []; window.answers = [];
  const box = document.getElementById("q"), grid = document.getElementById("grid");
  const real = window.fetch;
  let asked = "";
  window.fetch = (address, ...more) => {
    const url = new URL(address, location.href);
    if (url.pathname === "/v1/search") asked = url.searchParams.get("q");
    return real(address, ...more);
  };
  box.addEventListener("input", () => {
    const text = box.value.trim();
    if (text) window.keys.push({ text, at: performance.now() });
  }, true);
  // The line that says how many were found is written anew with every answer, after the pictures.
  new MutationObserver(() => {
    const answer = { text: asked, at: performance.now(), drawn: null };
    window.answers.push(answer);
    const first = grid.querySelector("img");
    if (!first) return;
    const done = () => requestAnimationFrame(() => { answer.drawn = performance.now(); });
    if (first.complete && first.naturalWidth) done();
    else first.addEventListener("load", done, { once: true });
  }).observe(document.getElementById("status"), { childList: true });
}"""


def serve(pictures: int, folder: str, pipe: Connection) -> None:
    """Serve a generated library until the process is ended; tells its address."""
    from PIL import Image

    from polyglance.data.photographs import photographs
    from polyglance.gallery import Gallery
    from polyglance.library.media.thumbnails import make_thumbnail
    from polyglance.runtime import open_model
    from polyglance.serve import Collection
    from polyglance.serve.access.guard import Access
    from polyglance.serve.images.facts import FactTable, read_head
    from polyglance.serve.run import run
    from polyglance.serve.service import Service

    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
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
    small, heads = [make_thumbnail(Image.open(one)) for one in files], [*map(read_head, files)]
    collection.__dict__["_facts"] = FactTable.of([], pictures)
    collection.__dict__["_made"] = lambda place: small[rows[place]]
    collection.__dict__["_head"] = lambda place: heads[rows[place]]
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
        keys, answers = page.evaluate("[window.keys, window.answers]")
        browser.close()
    pairs = [(key, _answer(key, answers)) for key in keys]
    return {
        "the answer in the page": np.array([one["at"] - key["at"] for key, one in pairs if one]),
        "its first thumbnail drawn": np.array(
            [one["drawn"] - key["at"] for key, one in pairs if one and one["drawn"]]
        ),
        "the service's answer, from its request": np.array([one for one in requests if one > 0]),
    }


def _answer(key: Moment, answers: list[Moment]) -> Moment | None:
    """The first after a letter that is to a text with it; None where none came."""
    later = (one for one in answers if one["at"] >= key["at"])
    return next((one for one in later if one["text"].startswith(key["text"])), None)


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
    print(f"{given.pictures:,} pictures; {os.cpu_count()} cores of {cpu_model()}, {memory_size()};")
    print(f"commit {commit()}; load {load:.1f} before and {os.getloadavg()[0]:.1f} after\n")
    print("| from a letter to | letters | p50 ms | p95 ms |\n| --- | ---: | ---: | ---: |")
    for name, values in found.items():
        middle, most = np.quantile(values, [0.5, 0.95])
        print(f"| {name} | {len(values)} | {middle:.0f} | {most:.0f} |")


if __name__ == "__main__":
    main()
