"""Where fonts may be: the package's own, matplotlib's, and the system's."""

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

Face = tuple[Path, int]
"""A font file and the number of the face in it (collections have several)."""

_FOLDERS = (
    "~/.local/share/fonts",
    "~/.fonts",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/Library/Fonts",
    "/Library/Fonts",
    "/System/Library/Fonts",
    "C:/Windows/Fonts",
)
# Faces of macOS, Windows and Linux that between them cover the world's scripts, plain before rare.
_KNOWN = (
    "notosans-regular",
    "notosanscjk",
    "notosans",
    "pingfang",
    "hiragino",
    "applesdgothicneo",
    "kohinoor",
    "geezapro",
    "arial unicode",
    "segoeui.",
    "msyh",
    "yugoth",
    "meiryo",
    "malgun",
    "nirmala",
    "simsun",
    "arial.",
    "lohit",
    "wqy",
    "droidsansfallback",
    "unifont",
)
_SUFFIXES = {".ttf", ".otf", ".ttc"}


def own_faces() -> Iterator[Face]:
    """DejaVu Sans, which comes with matplotlib, then the characters of the generated world."""
    spec = find_spec("matplotlib")
    if spec is not None and spec.origin:
        yield Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf", 0
    yield Path(__file__).parent / "polyglance-cjk.otf", 0


def system_faces(text: str) -> Iterator[Face]:
    """Installed fonts that may have the characters of `text`, likely ones first."""
    yield from _fontconfig(frozenset(text))
    for path in _installed():
        yield path, 0


@cache
def _fontconfig(characters: frozenset[str]) -> tuple[Face, ...]:
    """What `fc-list` knows to cover every character; upright sans-serif faces first."""
    wanted = " ".join(f"{ord(c):x}" for c in sorted(characters) if not c.isspace())
    command = ["fc-list", "-f", "%{file}\t%{index}\t%{style}\n", f":charset={wanted}"]
    try:
        run = subprocess.run(command, capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    rows = [line.split("\t") for line in run.stdout.decode("utf-8", "replace").splitlines()]
    found = [(Path(row[0]), row[1], row[2]) for row in rows if len(row) == 3]
    found = [face for face in found if face[1].isdigit() and face[0].suffix.lower() in _SUFFIXES]
    found.sort(key=lambda face: (_plainness(face[0].name, face[2]), face[0], int(face[1])))
    # The high bits of a fontconfig index name an instance of a variable font.
    return tuple((path, int(index) & 0xFFFF) for path, index, _ in found)


def _plainness(name: str, style: str) -> tuple[bool, bool]:
    return "regular" not in style.lower(), "sans" not in name.lower()


@cache
def _installed() -> tuple[Path, ...]:
    """Well-known fonts in the usual folders."""
    found = []
    for folder in _FOLDERS:
        for parent, _, files in os.walk(Path(folder).expanduser()):
            found += [Path(parent, name) for name in files if _order(name) < len(_KNOWN)]
    return tuple(sorted(found, key=lambda path: (_order(path.name), path)))


def _order(name: str) -> int:
    lower = name.lower()
    if Path(lower).suffix not in _SUFFIXES:
        return len(_KNOWN)
    return next((i for i, known in enumerate(_KNOWN) if lower.startswith(known)), len(_KNOWN))
