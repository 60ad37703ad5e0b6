"""Photographs included in pip packages, with the licences stated there.

Images of these packages without a stated licence are omitted.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic


class Photograph(NamedTuple):
    """A photograph and its location in a package."""

    name: str
    module: str
    file: str
    licence: str


_NASA, _CC0 = "public domain, NASA", "CC0"
PHOTOGRAPHS = (
    Photograph("astronaut", "skimage", "data/astronaut.png", _NASA),
    Photograph("brick", "skimage", "data/brick.png", f"{_CC0}, CC0Textures"),
    Photograph("camera", "skimage", "data/camera.png", f"{_CC0}, Lav Varshney"),
    Photograph("cat", "skimage", "data/chelsea.png", f"{_CC0}, Stefan van der Walt"),
    Photograph("clock", "skimage", "data/clock_motion.png", "public domain, Stefan van der Walt"),
    Photograph("coffee", "skimage", "data/coffee.png", f"{_CC0}, Rachel Michetti"),
    Photograph("coins", "skimage", "data/coins.png", "no known restrictions, Brooklyn Museum"),
    Photograph("grass", "skimage", "data/grass.png", f"{_CC0}, linolafett"),
    Photograph("gravel", "skimage", "data/gravel.png", f"{_CC0}, CC0Textures"),
    Photograph("stars", "skimage", "data/hubble_deep_field.jpg", _NASA),
    Photograph("retina", "skimage", "data/retina.jpg", f"{_CC0}, Mikael Häggström"),
    Photograph("rocket", "skimage", "data/rocket.jpg", "public domain, SpaceX"),
    Photograph("temple", "sklearn", "datasets/images/china.jpg", "CC BY 2.0, danielbuechele"),
    Photograph("flower", "sklearn", "datasets/images/flower.jpg", "CC BY 2.0, vultilion"),
)
PACKAGES = {"skimage": "scikit-image", "sklearn": "scikit-learn"}


def gather(folder: Path) -> Path:
    """Copy the photographs into a folder, by name, so that it can be served."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, one in photographs().items():
        place = folder / f"{one.name}{path.suffix}"
        if not place.is_file():
            with atomic(place) as handle:
                handle.write(path.read_bytes())
    return folder


def photographs() -> dict[Path, Photograph]:
    """File → photograph, of the installed packages, which are not imported."""
    found = {}
    for one in PHOTOGRAPHS:
        spec = find_spec(one.module)
        for place in (spec.submodule_search_locations or []) if spec else []:
            if (path := Path(place) / one.file).is_file():
                found[path] = one
    if not found:
        raise PolyglanceError(
            f"no photographs found: install {' and '.join(PACKAGES.values())} "
            "(pip install 'polyglance[demo]'), or pass your own folder with --images"
        )
    return found
