"""Time from a keystroke to images on the page, with 100,000 images.

    python benchmarks/page.py [--pictures 100000] [--rounds 3] [--other CHECKOUT]

A library is generated: embeddings of the photos in pip packages, with noise, so that all images
differ; thumbnails and sizes are theirs, made beforehand, as in a library. The page is served as
by `polyglance serve`, in a separate process, and headless Chromium types sentences letter by
letter. Measured in the browser, for each letter: the time until the page has an answer to a text
with this letter or a later one, and, if it has images, until the first thumbnail is drawn; and
the time of the service's answer alone. Processor time is that of the
service and of all browser processes, divided by the number of letters.

`--other` is another checkout of this repository, such as an older commit: both are served, and
each round types into one and then into the other, so that both face the same load.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.studies.running.machine import commit, cpu_model, memory_size

ROOT = Path(__file__).resolve().parent.parent
SENTENCES = ["a cup of coffee", "eine Katze schaut", "une fusée", "храм в горах", "flores rojas"]
Moment = dict[str, Any]
"""A text, and its time (`at`)."""
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


def serve(pictures: int) -> None:
    """Serve a generated library until the process is stopped; prints its address."""
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
    collection = Collection(model, gallery, [os.getcwd()])
    # As in a library; without one, 100,000 headers of the same few files would be read first.
    small, heads = [make_thumbnail(Image.open(one)) for one in files], [*map(read_head, files)]
    collection.__dict__["_facts"] = FactTable.of([], pictures)
    collection.__dict__["_made"] = lambda place: small[rows[place]]
    collection.__dict__["_head"] = lambda place: heads[rows[place]]
    service = Service(collection)
    service.warm()
    run(service, "127.0.0.1", 0, Access(), ready=lambda address: print(address, flush=True))


@contextmanager
def served(root: Path, pictures: int) -> Iterator[tuple[str, int]]:
    """The address of the service of a checkout, and its process id."""
    code = f"import page; page.serve({pictures})"
    folders = os.pathsep.join([str(root / "src"), str(ROOT / "benchmarks")])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": folders},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.wait()


Found = dict[str, list[float]]


def measure(address: str, service: int, found: Found) -> None:
    """Type all sentences once, and add milliseconds to what was found before.

    Args:
        address: of the page.
        service: its process.
        found: milliseconds by event; processor time has one value for all letters.
    """
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
        before = _processor([service]), _processor(_chromium())
        for text in SENTENCES:
            page.locator("#q").press_sequentially(text, delay=1000 * PAUSE)
            page.wait_for_timeout(1000)
            page.locator("#q").fill("")
            page.wait_for_timeout(300)
        after = _processor([service]), _processor(_chromium())
        keys, answers = page.evaluate("[window.keys, window.answers]")
        browser.close()
    pairs = [(key, one) for key in keys if (one := _answer(key, answers))]
    found["the answer in the page"] += [one["at"] - key["at"] for key, one in pairs]
    drawn = [one["drawn"] - key["at"] for key, one in pairs if one["drawn"]]
    found["its first thumbnail drawn"] += drawn
    found["the service's answer, from its request"] += [one for one in requests if one > 0]
    for name, start, end in zip((SERVICE, BROWSER), before, after, strict=True):
        found[name].append((end - start) / len(keys))


SERVICE, BROWSER = "processor time of the service", "processor time of the browser"


def _processor(processes: list[int]) -> float:
    """Milliseconds of processor time that processes have used."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return 1000 * ticks / os.sysconf("SC_CLK_TCK")


def _chromium() -> list[int]:
    """The processes of the browser that this one has started."""
    parents, names = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = stat.read_text().rpartition(")")
        except OSError:  # it has ended meanwhile
            continue
        process = int(stat.parent.name)
        parents[process], names[process] = int(tail.split()[1]), head.partition("(")[2]
    found = {os.getpid()}
    while grown := {one for one, parent in parents.items() if parent in found} - found:
        found |= grown
    return [one for one in found if names.get(one, "").startswith("chrom")]


def _answer(key: Moment, answers: list[Moment]) -> Moment | None:
    """The first answer to a text that includes a letter; None if there is none."""
    later = (one for one in answers if one["at"] >= key["at"])
    return next((one for one in later if one["text"].startswith(key["text"])), None)


def _time(request: object) -> float:
    url, timing = request.url, request.timing  # type: ignore[attr-defined]
    return timing["responseEnd"] if "/v1/search" in url else -1.0


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--other", type=Path, help="another checkout, measured in turn")
    given = parser.parse_args()
    roots = [ROOT, *([given.other.resolve()] if given.other else [])]
    found: dict[Path, Found] = {root: defaultdict(list) for root in roots}
    with ExitStack() as stack:
        services = {root: stack.enter_context(served(root, given.pictures)) for root in roots}
        time.sleep(1)
        load = os.getloadavg()[0]
        for _ in range(given.rounds):
            for root, (address, process) in services.items():
                measure(address, process, found[root])
    print(f"{given.pictures:,} pictures; {os.cpu_count()} cores of {cpu_model()}, {memory_size()};")
    print(f"commit {commit()}; load {load:.1f} before and {os.getloadavg()[0]:.1f} after")
    for root, values in found.items():
        print(f"\n{root}:\n")
        _print(values)


def _print(found: Found) -> None:
    print("| from a letter to | letters | p50 ms | p95 ms |\n| --- | ---: | ---: | ---: |")
    for name, values in found.items():
        if name not in (SERVICE, BROWSER):
            middle, most = np.quantile(values, [0.5, 0.95]) if values else (np.nan, np.nan)
            print(f"| {name} | {len(values)} | {middle:.0f} | {most:.0f} |")
    print(f"\nmilliseconds a letter: {SERVICE} {np.mean(found[SERVICE]):.0f}, ", end="")
    print(f"{BROWSER} {np.mean(found[BROWSER]):.0f}")


if __name__ == "__main__":
    main()
