"""The image side of an exported model: from images to features to embeddings."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.runtime.encoding.graph import Graph
from polyglance.runtime.manifest import BACKBONE, Manifest
from polyglance.vision.extraction.extract import read_pixels, shape_as
from polyglance.vision.extraction.features import Features, parse_feature
from polyglance.vision.extraction.store import LARGEST
from polyglance.vision.networks.backbones import BackboneOutput
from polyglance.vision.networks.preprocess import Preprocessing

BATCH, READERS, STORED_BATCH = 8, 2, 512
AT_ONCE = 2
"""Images, or parts of them, per run: more are slower and take memory."""


class ImageSide:
    """The backbone, if any, and the image tower."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self.graphs = {form: Graph(folder / name) for form, name in manifest.images.items()}
        self.backbone = Graph(folder / BACKBONE)

    def embed(self, features: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        """Features [B, F], or sets [B, K, F] with lengths [B] → embeddings [B, D].

        Features are rounded to float16 first, as in a feature store, except those of a network
        that was trained in the tower.
        """
        dim, values = self.manifest.feature_dim, np.asarray(features)
        form = "global" if lengths is None else "set"
        if values.ndim != (2 if lengths is None else 3) or values.shape[-1] != dim:
            wanted = f"[n, {dim}]" if lengths is None else f"[n, k, {dim}] with lengths [n]"
            raise PolyglanceError(f"features of shape {list(values.shape)}: must be {wanted}")
        if form not in self.graphs:
            kept = next(iter(self.graphs))
            raise PolyglanceError(
                f"this model takes {kept} features ({self.manifest.feature}), not {form} ones"
            )
        if not self.manifest.trained_backbone:
            values = values.astype(np.float16).astype(np.float32)
        return self.graphs[form](
            features=values, lengths=np.zeros(0) if lengths is None else np.asarray(lengths)
        )

    def embed_stored(self, features: Features, rows: np.ndarray) -> np.ndarray:
        """Embeddings [n, D] of the images at `rows` [n] of a feature store."""
        if features.dim != self.manifest.feature_dim:
            raise PolyglanceError(
                f"the model takes features of dimension {self.manifest.feature_dim} "
                f"({self.manifest.feature}), but '{features.name}' has {features.dim}"
            )
        found = np.empty((len(rows), self.manifest.dim), np.float32)
        for start in range(0, len(rows), STORED_BATCH):
            part = slice(start, start + STORED_BATCH)
            gathered = features.gather(rows[part])
            found[part] = self.embed(*(gathered if isinstance(gathered, tuple) else (gathered,)))
        return found

    def embed_files(self, paths: Sequence[Path]) -> Iterator[np.ndarray | ImageProblem]:
        """The embedding [D] of each image file, or its problem, in order."""
        preprocessing = self.preprocessing
        with ThreadPoolExecutor(READERS) as pool:
            for start in range(0, len(paths), BATCH):
                part = paths[start : start + BATCH]
                yield from self._batch(
                    list(pool.map(lambda path: read_pixels(path, preprocessing), part)), part
                )

    @property
    def preprocessing(self) -> Preprocessing:
        """The preprocessing of images; without an image network it is an error."""
        if self.manifest.preparation is None:
            raise PolyglanceError(
                f"this model was exported without its image network: "
                f"{self.manifest.without_backbone}; pass features to encode_features"
            )
        return self.manifest.preparation.preprocessing()

    def _batch(
        self, found: list[np.ndarray | ImageProblem], paths: Sequence[Path]
    ) -> Iterator[np.ndarray | ImageProblem]:
        pixels = [one for one in found if not isinstance(one, ImageProblem)]
        embedded = iter(self.embed_pixels(np.stack(pixels)) if pixels else ())
        for one, path in zip(found, paths, strict=True):
            result = one if isinstance(one, ImageProblem) else next(embedded)
            if result is None:
                reason = "the network's output is NaN, infinite or beyond float16"
                result = ImageProblem(path, reason)
            yield result

    def embed_pixels(self, pixels: np.ndarray) -> list[np.ndarray | None]:
        """Embeddings [D] of preprocessed images [b, …]; None if the output is invalid.

        Args:
            pixels: each from `Preprocessing.apply`, or one part [3, size, size] of each.
        """
        features = self._features(pixels)
        fit = (np.abs(features) <= LARGEST).all((1, 2))
        sets = np.where(fit[:, None, None], features, 0)
        if "global" in self.graphs:
            found = self.embed(sets[:, 0])
        else:
            found = self.embed(sets, np.full(len(sets), sets.shape[1]))
        return [row if good else None for row, good in zip(found, fit, strict=True)]

    def embed_cells(self, pixels: np.ndarray, window: int = 1) -> np.ndarray:
        """Embeddings [b, rows, columns, D] of the cells of preprocessed images [b, 3, size, size].

        Each is the embedding that an image with only this part would have: the image tower
        gets the mean of the cells around it.

        Args:
            pixels: preprocessed as `preprocessing` specifies.
            window: side length of the averaged window in cells; odd.
        """
        grid = _blurred(self.backbone(pixels=pixels).transpose(0, 2, 3, 1), window)
        cells = np.clip(grid, -LARGEST, LARGEST).reshape(-1, grid.shape[-1])
        if "global" in self.graphs:
            found = self.embed(cells)
        else:
            found = self.embed(cells[:, None], np.ones(len(cells), np.int64))
        return found.reshape(*grid.shape[:3], -1)

    def _features(self, pixels: np.ndarray) -> np.ndarray:
        """[b, 3, size, size] or [b, V, 3, size, size] → [b, K, F]; K is 1 for global features."""
        flat = pixels.reshape(-1, *pixels.shape[-3:])
        starts = range(0, len(flat), AT_ONCE)
        parts = [self.backbone(pixels=flat[at : at + AT_ONCE]) for at in starts]
        grid = np.concatenate(parts)  # [b·V, F, side, side]
        output = BackboneOutput(grid.mean((2, 3)), grid.transpose(0, 2, 3, 1))
        found = shape_as(output, parse_feature(self.manifest.feature)[1])
        if pixels.ndim == 4:
            return found
        return found.reshape(*pixels.shape[:2], *found.shape[1:]).mean(1)


def _blurred(grid: np.ndarray, window: int) -> np.ndarray:
    """Means of a grid [b, rows, columns, F] over windows, which are smaller at the edges."""
    reach, total, count = window // 2, np.zeros_like(grid), np.zeros(grid.shape[1:3])
    rows, columns = grid.shape[1:3]
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            to = _overlap(rows, down), _overlap(columns, right)
            of = _overlap(rows, -down), _overlap(columns, -right)
            total[:, *to] += grid[:, *of]
            count[*to] += 1
    return total / count[None, :, :, None].astype(grid.dtype)


def _overlap(length: int, shift: int) -> slice:
    """The positions that have a neighbour `shift` before them."""
    return slice(max(0, shift), max(0, length + min(0, shift)))
