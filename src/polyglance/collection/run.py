"""Embedding a collection from beginning to end, and going on where that was interrupted."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polyglance.collection.engines import ENGINES, RUN
from polyglance.collection.plan import PARTS, Part, done_parts, extend_plan, read_plan
from polyglance.collection.sources import find_parts
from polyglance.collection.work import PROBLEMS
from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.library.shards import FORMATS, Mark, is_shards, read_mark, sweep, write_mark
from polyglance.storage.folders import Folder, absolute

ALL_PROBLEMS = "problems.jsonl"
ROWS = 2048


@dataclass
class EmbedReport:
    """What is in a folder of shards when the work is done."""

    images: int = 0
    problems: int = 0
    """Images that could not be embedded; the file `problems.jsonl` has them with the reason."""
    parts: int = 0
    fresh: int = 0
    """Parts that this run has done."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Tars, tables and folders that could not be done now, with the reason: call again."""


def embed_collection(
    source: str | Path,
    out: str | Path,
    model: Any = None,
    engine: str = "processes",
    workers: int | None = None,
    kind: str = "parquet",
    rows: int = ROWS,
    column: str = "",
    thumbnails: bool = True,
    show_progress: bool | None = None,
) -> EmbedReport:
    """Embed every image of a collection exactly once, into shards.

    Called again after a kill it goes on; called again when all is done, it embeds what came since.
    Images that cannot be read are listed in the file `problems.jsonl`.

    Args:
        source: a folder of images, of tars (WebDataset) or of Parquet files, or one such file; on
            this machine or another (s3:// and others, through fsspec).
        out: the folder of shards, here or elsewhere; new, or one that was begun with these options.
        model: an exported model's folder; None is the one that the package carries.
        engine: "processes" of this machine, or "ray".
        workers: processes; None is as many as cores (with Ray, as its cluster has).
        kind: of the shards: "parquet" or "lance".
        rows: images of a shard at most: what a kill costs.
        column: of Parquet files: which has the images, as bytes or as addresses; "" looks for one.
        thumbnails: whether the shards have small copies of the images.
        show_progress: None shows a bar on a terminal, lines elsewhere.
    """
    if engine not in ENGINES or kind not in FORMATS or rows < 1:
        raise PolyglanceError(f"engine '{engine}', kind '{kind}', rows {rows}: no such choice")
    folder = Folder(out)
    with _alone(folder):
        mark = _begin(folder, absolute(source), model, kind, rows, column, thumbnails)
        parts = read_plan(folder)
        done = done_parts(folder)
        if all(part.name in done for part in parts):
            found = find_parts(mark.source, parts, mark.rows, mark.column)
            parts += extend_plan(folder, parts, found)
        todo = [part for part in parts if part.name not in done]
        report = EmbedReport(parts=len(parts), fresh=0)
        _embed(folder, todo, engine, workers, report, show_progress)
        _summarise(folder, parts, report)
    return report


def _begin(
    folder: Folder,
    source: str,
    model: Any,
    kind: str,
    rows: int,
    column: str,
    thumbnails: bool,
) -> Mark:
    """Say what the folder will be, or check that it is what was asked for."""
    from polyglance.library.library import load_encoder

    loaded, home = load_encoder(model)
    wanted = Mark(loaded.id, home, loaded.dim, source, kind, column, thumbnails, rows)
    if not is_shards(folder):
        if folder.names() not in ([], [LOCK]):
            raise PolyglanceError(f"{folder.place}: must be a new or an empty folder")
        write_mark(folder, wanted)
        return wanted
    found = read_mark(folder)
    if not read_plan(folder):  # no image was found before, so that nothing is bound to the options
        write_mark(folder, wanted)
        return wanted
    for name in ("source", "model", "kind", "column", "thumbnails", "rows"):
        was, now = getattr(found, name), getattr(wanted, name)
        if was != now:
            raise PolyglanceError(
                f"{folder.place}: was begun with {name} '{was}', and this is '{now}'; use the "
                "same options, or embed into a new folder"
            )
    if found.model_folder != home:  # the model was moved
        found = replace(found, model_folder=home)
        write_mark(folder, found)
    return found


LOCK = "lock"


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    """One run at a time writes to a folder of this machine."""
    if folder.is_remote:
        yield
        return
    from polyglance.library.locks import Locked, writing

    os.makedirs(folder.place, exist_ok=True)
    try:
        with writing(Path(folder.place), wait=False, name=LOCK):
            sweep(folder)
            yield
    except Locked:
        raise PolyglanceError(
            f"{folder.place}: another process is embedding into it; wait until it has ended"
        ) from None


def _embed(
    folder: Folder,
    todo: list[Part],
    engine: str,
    workers: int | None,
    report: EmbedReport,
    show: bool | None,
) -> None:
    if not todo:
        return
    total = sum(len(part.names) for part in todo)
    with Bar("embed", total, "img", show) as bar:
        for part, counts, failed in RUN[engine](folder.place, todo, workers, bar.advance):
            if counts is None:
                report.failed.append((part.place, failed))
            else:
                report.fresh += 1


def _summarise(folder: Folder, parts: list[Part], report: EmbedReport) -> None:
    """Count what is there, and put the problems of all parts into one file."""
    done = done_parts(folder)
    lines: list[bytes] = []
    names = folder.names(PROBLEMS)
    for part in parts:
        if part.name not in done:
            continue
        counts = json.loads(folder.read(f"{PARTS}/{part.name}.json"))
        report.images += counts["images"]
        report.problems += counts["problems"]
        if counts["damage"]:
            fields = {"path": part.place, "reason": counts["damage"]}
            lines.append(json.dumps(fields).encode() + b"\n")
            report.problems += 1
    lines += [folder.read(f"{PROBLEMS}/{name}") for name in names if not name.startswith(".")]
    folder.write(ALL_PROBLEMS, b"".join(lines))
