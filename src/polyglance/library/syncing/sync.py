"""Updates a library from its folders, without embedding files again that only moved."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from polyglance.core.progress import Bar
from polyglance.core.terminal import counted
from polyglance.data.images.read import content_key
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.library.library import Library
from polyglance.library.locks import writing
from polyglance.library.record import Caption, Stamp, thumbnail_key
from polyglance.library.stores.protocol import Known
from polyglance.library.syncing.apply import Embedding, File, copy, relocate
from polyglance.library.syncing.captions import CaptionFiles, captions_of
from polyglance.library.syncing.changes import Changes, Copies, Rows, compare
from polyglance.library.syncing.scan import Scan, is_below, scan
from polyglance.library.syncing.unreadable import Unreadable

CHUNK = 256
"""Files read, compared and embedded together."""


@dataclass
class SyncReport:
    """The outcome of a sync, in files."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    copied: int = 0
    removed: int = 0
    unchanged: int = 0
    captioned: int = 0
    """Files that were there before, with captions that have changed."""
    embedded: int = 0
    """Files that were embedded."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """Paths with the reason; those reported before come last."""
    fresh: int = 0
    """How many of them were not reported before."""
    notes: list[str] = field(default_factory=list)
    """Other messages for the user."""

    @property
    def files(self) -> int:
        """Number of files that were not as before."""
        known = self.changed + self.moved + self.captioned + self.removed
        return self.added + self.copied + known

    @property
    def eventful(self) -> bool:
        """Whether anything was changed or is to be reported."""
        return bool(self.files or self.fresh or self.notes)


def sync(
    library: Library,
    only: Collection[str] | None = None,
    prune: bool = False,
    show_progress: bool | None = None,
) -> SyncReport:
    """Add new images, remove deleted ones, and follow moved ones.

    If interrupted, the next call resumes. Unreadable images are reported. If a folder is missing
    or empty, for example because a drive is not mounted, its images are kept.

    Args:
        library: to update; by one process at a time.
        only: absolute paths to consider; None is all of the library's folders.
        prune: also remove images of missing and empty folders.
        show_progress: None shows a bar in a terminal, lines elsewhere.
    """
    with writing(library.folder, wait=False, name="sync.lock"):
        library.change()  # rereads settings that another process may have changed
        if library.settings.shards:
            return _sync_shards(library)
        return _Sync(library, only, prune, show_progress)()


def _sync_shards(library: Library) -> SyncReport:
    """Open new shards, and index them if there are many."""
    before = library.store.count()
    library.reopen()
    library.store.optimise()
    count = library.store.count()
    return SyncReport(added=max(0, count - before), unchanged=min(before, count))


class _Sync:
    def __init__(
        self,
        library: Library,
        only: Collection[str] | None,
        prune: bool,
        show_progress: bool | None,
    ) -> None:
        self.library, self.only, self.prune, self.show = library, only, prune, show_progress
        self.folders = library.settings.folders
        self.excluded = [*library.settings.excluded, str(library.folder)]
        self.caption_files = CaptionFiles(library)
        self.report = SyncReport()
        self.unreadable = Unreadable(library.folder)
        self.pool: dict[str, list[Rows]] = defaultdict(list)
        """Content → rows of files that are no longer where they were."""
        self.living: dict[str, Rows] = {}
        """Content → rows of an existing file."""
        self.doomed: set[str] = set()
        """Ids to delete at the end, unless a new file claims them."""

    def __call__(self) -> SyncReport:
        places = self.folders if self.only is None else list(self.only)
        found = scan(places, self.excluded)
        known = self.library.store.known()
        gone = self._gone({row.path for row in known}, found)
        before = set(dict(self.unreadable))
        fresh = {p: s for p, s in found.seen.items() if not self.unreadable.knows(p, s)}
        self.unreadable.forget([p for p in before if p in fresh or self._is_gone(p, found)])
        self.stamps = found.seen
        changes = compare(known, fresh, gone)
        if changes.new or changes.touched:
            self.numbers, self.living = Copies(known), _living(known, changes)
        try:
            self._apply(changes)
        finally:
            self.unreadable.save()
        self._refresh_captions()
        self._finish(found, before)
        return self.report

    def _refresh_captions(self) -> None:
        try:
            self.report.captioned = self.caption_files.refresh()
        except PolyglanceError as error:  # a damaged file; the images are up to date
            self.report.notes.append(f"captions are not updated: {error}")

    def _gone(self, paths: set[str], found: Scan) -> set[str]:
        """Paths of rows whose files are gone, as far as can be determined."""
        gone = {path for path in paths if self._is_gone(path, found)}
        if self.prune:
            return gone
        for folder in self.folders if self.only is None else self.only:
            if folder not in self.folders:
                continue
            own = {path for path in gone if is_below(path, [folder])}
            if own and not any(is_below(path, [folder]) for path in found.seen):
                gone -= own
                there = "no longer contains images" if os.path.exists(folder) else "does not exist"
                self.report.notes.append(
                    f"{folder}: {there}, so the library keeps its {counted(len(own), 'image')}; "
                    "use --prune to remove them"
                )
        return gone

    def _is_gone(self, path: str, found: Scan) -> bool:
        if path in found.seen or is_below(path, [place for place, _ in found.closed]):
            return False
        if not is_below(path, self.folders) or is_below(path, self.excluded):
            return True  # its folder was removed from the library
        return self.only is None or is_below(path, self.only)

    def _apply(self, changes: Changes) -> None:
        self.report.unchanged = changes.unchanged
        self.doomed |= set(changes.stale)
        relocate(self.library, {p: (rows, self.stamps[p]) for p, rows in changes.moved.items()})
        self.report.moved += len(changes.moved)
        for rows in changes.vanished.values():
            self.pool[rows[0].content].append(rows)
        self.doomed |= {row.id for rows in changes.vanished.values() for row in rows}
        total = len(changes.touched) + len(changes.new)
        with Bar("sync", total, "img", self.show if total else False) as bar:
            self.advance: Callable[[int], None] = bar.advance
            self.report.changed = self._put(self._touched(changes.touched))
            for start in range(0, len(changes.new), CHUNK):
                files = list(self._hashed(changes.new[start : start + CHUNK]))
                self.report.added += self._put(files)
        vanished = changes.vanished.values()
        self.report.removed = sum(bool(_ids(rows) & self.doomed) for rows in vanished)
        self.library.store.delete(self.doomed)

    def _touched(self, touched: dict[str, Rows]) -> list[File]:
        """Files that existed before and have different content now."""
        same: dict[str, tuple[Rows, Stamp]] = {}
        altered = []
        hashed = {file.path: file for file in self._hashed(list(touched))}
        for path, rows in touched.items():
            file = hashed.get(path)
            own = [row for row in rows if file is not None and row.content == file.content]
            if file is not None and own:
                same[path] = own, file.stamp
                self.living[file.content] = own
                self.report.unchanged += 1
                self.advance(1)
            elif file is not None:
                altered.append(file)
            other = [row for row in rows if row not in own]
            self.doomed |= _ids(other)
            for content in {row.content for row in other}:
                self.pool[content].append([row for row in other if row.content == content])
        relocate(self.library, same)
        return altered

    def _hashed(self, paths: Sequence[str]) -> Iterable[File]:
        for path in paths:
            try:
                yield File(path, self.stamps[path], content_key(Path(path)))
            except ImageProblem as problem:
                self._failed(File(path, self.stamps[path], ""), problem.reason, False)
                self.advance(1)

    def _put(self, files: Sequence[File]) -> int:
        """Insert files as cheaply as possible; the number of additions."""
        if not files:
            return 0
        moves: dict[str, tuple[Rows, Stamp]] = {}
        copies: list[tuple[Rows, File]] = []
        groups: dict[str, list[File]] = {}
        for file in files:
            if (rows := self._claim(file.content)) is not None:
                moves[file.path] = rows, file.stamp
            elif (rows := self.living.get(file.content)) is not None:
                copies.append((rows, file))
            else:
                groups.setdefault(file.content, []).append(file)
        relocate(self.library, moves)
        copy(self.library, copies, self.numbers)
        self.advance(len(moves) + len(copies))
        self.report.moved += len(moves)
        self.report.copied += len(copies)
        if not groups:
            return 0
        self.report.embedded += len(groups)
        added = self._embedding.run(groups.values(), self.advance)
        self.living.update(self._embedding.made)
        self.unreadable.save()
        return added

    def _claim(self, content: str) -> Rows | None:
        """The rows of a vanished file with this content, for a new file."""
        for rows in self.pool.get(content, ()):
            if _ids(rows) <= self.doomed:
                self.doomed -= _ids(rows)
                self.living[content] = rows
                return rows
        return None

    @cached_property
    def _embedding(self) -> Embedding:
        return Embedding(self.library, self.numbers, lambda: self._captions, self._failed)

    @cached_property
    def _captions(self) -> dict[str, tuple[Caption, ...]]:
        try:
            return captions_of(self.folders)
        except PolyglanceError:  # reported at the end, and read again by the next sync
            return {}

    def _failed(self, file: File, reason: str, lasting: bool) -> None:
        if lasting:
            self.unreadable.add(file.path, file.stamp, reason)
        else:
            self.report.unreadable.append((file.path, reason))

    def _finish(self, found: Scan, before: set[str]) -> None:
        report = self.report
        if self.doomed:
            rows = self.library.store.known()
            self.library.thumbnails.keep({thumbnail_key(row.id) for row in rows})
        if report.files:
            self.library.store.optimise()
        kept = sorted(self.unreadable, key=lambda one: one[0] in before)
        report.unreadable += [*found.closed, *kept]
        report.fresh = len(report.unreadable) - sum(path in before for path, _ in kept)
        for package, count in found.lacking.items():
            report.notes.append(
                f"skipped {counted(count, 'file')} that 'pip install {package}' makes readable"
            )


def _ids(rows: Iterable[Known]) -> set[str]:
    return {row.id for row in rows}


def _living(known: Iterable[Known], changes: Changes) -> dict[str, Rows]:
    """Content → the rows of one unmoved file."""
    away, stale = {*changes.vanished, *changes.touched}, set(changes.stale)
    found: dict[str, dict[str, Rows]] = {}
    for row in known:
        if row.path not in away and row.id not in stale:
            found.setdefault(row.content, {}).setdefault(row.path, []).append(row)
    return {content: next(iter(paths.values())) for content, paths in found.items()}
