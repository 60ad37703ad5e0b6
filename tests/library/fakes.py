"""A model that embeds at once, and pictures to embed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from polyglance.library import Library
from polyglance.vision.networks.preprocess import Preprocessing

DIM, SIDE = 16, 8


class FakeModel:
    """Random projections of pixels; `embedded` counts the pictures."""

    similarity_name, dim, folder = "cosine", DIM, ""

    def __init__(self, seed: int = 0) -> None:
        self.id = f"{seed:x}" * 64
        self.ids: tuple[str, ...] = (self.id,)
        self.embedded = 0
        self._map = np.random.default_rng(seed).normal(size=(3 * SIDE * SIDE, DIM))
        self.images = self
        self.preprocessing = Preprocessing(SIDE, 1.0, (127.0,) * 3, (50.0,) * 3, squash=True)

    def embed_pixels(self, pixels: np.ndarray) -> list[np.ndarray | None]:
        self.embedded += len(pixels)
        return list((pixels.reshape(len(pixels), -1) @ self._map).astype(np.float32))

    def encode_images(self, images: object, show_progress: bool | None = None) -> np.ndarray:
        given = images if isinstance(images, Sequence) else [images]
        opened = [one if isinstance(one, Image.Image) else Image.open(one) for one in given]
        pixels = np.stack([self.preprocessing.apply(one.convert("RGB")) for one in opened])
        return np.stack(self.embed_pixels(pixels))  # type: ignore[arg-type]

    def encode_text(
        self, text: str, language: str | None = None, show_progress: bool | None = None
    ) -> np.ndarray:
        return np.full((1, DIM), len(text), np.float32)


def picture(number: int, size: tuple[int, int] = (40, 30)) -> Image.Image:
    """Coloured patches, by a number."""
    patches = np.random.default_rng(number).integers(0, 256, (4, 5, 3), np.uint8)
    return Image.fromarray(patches).resize(size, Image.Resampling.NEAREST)


def save(path: Path, number: int) -> Path:
    """Write a picture; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(number).save(path)
    return path


def library_of(folder: Path, *folders: Path, model: object = None) -> Library:
    """A new library of folders, nothing in it yet."""
    library = Library.create(folder, model or FakeModel())
    library.change(folders=[str(one) for one in folders])
    return library


def paths(library: Library) -> list[str]:
    """The names of all files in a library, sorted."""
    return sorted({Path(row.path).name for row in library.store.known()})
