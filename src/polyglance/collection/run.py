"""Embedding a collection from start to end, and resuming after an interruption."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polyglance.collection.engines import ENGINES, RUN, check_ray
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
    """The content of a folder of shards after a run."""

    images: int = 0
    problems: int = 0
    """Images that could not be embedded; `problems.jsonl` has the reasons."""
    parts: int = 0
    fresh: int = 0
    """Parts finished in this run."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Tars, tables and folders that could not be read now, with the reason: call again."""


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

    Called again after a kill, it resumes; called again when all is done, it embeds what is new.
    Images that cannot be read are listed in `problems.jsonl`.

    Args:
        source: a folder of images, of tars (WebDataset) or of Parquet files, or one such file;
            local or remote (s3:// and others, through fsspec).
        out: folder of shards, local or remote; new, or started with the same options.
        model: folder of an exported model; by default the included one.
        engine: "processes" (local) or "ray".
        workers: number of processes; by default one per core (of the cluster, with Ray).
        kind: format of the shards: "parquet" or "lance".
        rows: largest number of images per shard; a killed process loses unfinished shards.
        column: of Parquet files, with the images as bytes or locations; "" means it is detected.
        thumbnails: store small copies of the images in the shards.
        show_progress: None shows a bar in a terminal, lines elsewhere.
    """
    if engine not in ENGINES or kind not in FORMATS or rows < 1:
        raise PolyglanceError(f"engine '{engine}', kind '{kind}', rows {rows}: not supported")
    if engine == "ray":
        check_ray()
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
    """Write the folder's mark, or check that it matches the options."""
    from polyglance.library.library import load_encoder

    loaded, home = load_encoder(model)
    wanted = Mark(loaded.id, home, loaded.dim, source, kind, column, thumbnails, rows)
    if not is_shards(folder):
        if folder.names() not in ([], [LOCK]):
            raise PolyglanceError(f"{folder.place}: must be a new or an empty folder")
        write_mark(folder, wanted)
        return wanted
    found = read_mark(folder)
    if not read_plan(folder):  # no image was found before: the options may change
        write_mark(folder, wanted)
        return wanted
    if found.model in loaded.ids:
        wanted = replace(wanted, model=found.model)
    for name in ("source", "model", "kind", "column", "thumbnails", "rows"):
        was, now = getattr(found, name), getattr(wanted, name)
        if was != now:
            raise PolyglanceError(
                f"{folder.place}: was started with {name} '{was}', not '{now}'; use the "
                "same options, or embed into a new folder"
            )
    if found.model_folder != home:  # the model has moved
        found = replace(found, model_folder=home)
        write_mark(folder, found)
    return found


LOCK = "lock"


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    """Allow one run at a time in a local folder."""
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
            f"{folder.place}: another process is embedding into it; wait until it has finished"
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
    # How many images tars and tables have is not known before they are read.
    total = sum(len(part.names) for part in todo) if all(part.names for part in todo) else None
    with Bar("embed", total, "img", show) as bar:
        for part, counts, failed in RUN[engine](folder.place, todo, workers, bar.advance):
            if counts is None:
                report.failed.append((part.place, failed))
            else:
                report.fresh += 1


def _summarise(folder: Folder, parts: list[Part], report: EmbedReport) -> None:
    """Count the images and write the problems of all parts into one file."""
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
