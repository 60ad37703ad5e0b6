"""Names of files relative to the served folders; clients never see full paths."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyglance.gallery.hit import path_text
from polyglance.library.syncing.scan import is_below


class Names:
    """Names of N files, and their folders.

    With one served folder, a name starts below it. With several, it starts with the folder's own
    name, made unique if necessary.
    """

    def __init__(self, paths: Sequence[Path], roots: Sequence[str]) -> None:
        found = [os.path.abspath(path) for path in paths]
        of = [next((root for root in roots if is_below(path, [root])), None) for path in found]
        used = set(of)
        heads = _heads([root for root in roots if root in used])
        self.names = [_name(path, root, heads) for path, root in zip(found, of, strict=True)]
        codes: dict[str, int] = {}
        self.codes = np.array(
            [codes.setdefault(name.rpartition("/")[0], len(codes)) for name in self.names], np.int64
        )
        """Index of the folder of each file, [N]."""
        self.folders = list(codes)

    def below(self, folder: str) -> np.ndarray:
        """Which files are in a folder or below it, bool [N]."""
        own = folder.strip("/")
        if not own:
            return np.ones(len(self.codes), bool)
        inside = [one == own or one.startswith(f"{own}/") for one in self.folders]
        return np.array(inside, bool)[self.codes] if inside else np.zeros(0, bool)


def _name(path: str, root: str | None, heads: dict[str, str]) -> str:
    if root is None or path == root:
        return path_text(Path(os.path.basename(path)))
    own = path_text(Path(path[len(root.rstrip(os.sep)) + 1 :])).replace(os.sep, "/")
    return f"{heads[root]}/{own}" if heads else own


def _heads(roots: Sequence[str]) -> dict[str, str]:
    """Prefixes of names for several folders; none for a single one.

    >>> _heads(["/a/sea"]), _heads(["/a/sea", "/b/sea"])
    ({}, {'/a/sea': 'sea', '/b/sea': 'sea (2)'})
    """
    if len(roots) < 2:
        return {}
    heads: dict[str, str] = {}
    for root in roots:
        own = path_text(Path(os.path.basename(root))) or "root"
        number = sum(head == own or head.startswith(f"{own} (") for head in heads.values())
        heads[root] = f"{own} ({number + 1})" if number else own
    return heads
