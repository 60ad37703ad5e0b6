"""Finds fonts: the package's own, matplotlib's, and the system's."""

import re
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_SPECIAL = re.compile("bold|italic|oblique|light|thin|black|heavy|medium|condensed|mono|serif")
SUBSETS = (
    "polyglance-latin.ttf",
    "polyglance-cjk.otf",
    "polyglance-devanagari.ttf",
    "polyglance-thai.ttf",
    "polyglance-arabic.ttf",
)
"""Fonts of the package: Latin and Cyrillic letters, and the other characters of the generated data
and of the demo's queries."""
_BOXES = "lastresort"
"""A font of macOS with a box for every character."""


def own_fonts() -> Iterator[Path]:
    """DejaVu Sans from matplotlib, then the package's subset fonts."""
    spec = find_spec("matplotlib")
    if spec is not None and spec.origin:
        yield Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
    yield from (Path(__file__).parent / name for name in SUBSETS)


@cache
def system_fonts() -> tuple[Path, ...]:
    """Installed fonts; upright sans-serif ones first."""
    if find_spec("matplotlib") is None:
        warnings.warn(
            "cannot find system fonts without matplotlib; run 'pip install matplotlib'",
            stacklevel=2,
        )
        return ()
    from matplotlib.font_manager import findSystemFonts

    paths = [Path(name) for name in findSystemFonts()]
    return tuple(sorted((p for p in paths if _BOXES not in p.name.lower()), key=_plainness))


def _plainness(path: Path) -> tuple[int, bool, str]:
    name = path.stem.lower()
    return len(set(_SPECIAL.findall(name))), "sans" not in name, name
