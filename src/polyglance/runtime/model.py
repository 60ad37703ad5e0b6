"""An exported model: encodes texts and images like its source model, without torch."""

import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from polyglance.core.progress import Bar
from polyglance.data.dataset import Dataset
from polyglance.data.images.inputs import GivenImage, as_files
from polyglance.errors import ImageProblem, PolyglanceError, UnreadableImageWarning
from polyglance.numerics.similarity import comparable, scores
from polyglance.recipes import check_recipe
from polyglance.runtime.background import Background, read_background
from polyglance.runtime.encoding.images import ImageSide
from polyglance.runtime.encoding.sentence import SentenceSide
from polyglance.runtime.encoding.text import TextSide, tower_of
from polyglance.runtime.folders import check_model_folder, model_folder
from polyglance.runtime.manifest import EMBEDDER, FILE, Manifest, SentenceFiles, read_manifest
from polyglance.text.embedders import EncodedTexts, load_embedder
from polyglance.text.reading import listed_texts, read_ids, warn_of_unknown
from polyglance.vision.extraction.extract import check_images, load_features
from polyglance.vision.extraction.features import Features


class ExportedModel:
    """A model written by `polyglance export`, with the methods of `Model`.

    `load(folder).encode_text(["a dog", "ein Hund"])` returns normalised float32 [2, D]. It may be
    called from several threads at once.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.recipe = check_recipe(manifest.recipe, str(folder / FILE))
        self.embedder = load_embedder(self.recipe, folder / EMBEDDER)
        self.towers = {
            code: SentenceSide(folder, own, self.embedder)
            if isinstance(own, SentenceFiles)
            else TextSide(folder, own)
            for code, own in manifest.towers.items()
        }
        self.images = ImageSide(folder, manifest)

    def __repr__(self) -> str:
        return (
            f"<ExportedModel {self.recipe.name} in {self.folder}, {self.dim} dimensions, "
            f"{len(self.languages)} languages, {self.precision}>"
        )

    @property
    def id(self) -> str:
        """Digest that identifies the embeddings: models with the same id have the same."""
        return self.manifest.id

    @property
    def ids(self) -> tuple[str, ...]:
        """The id, and the former ids of the same embeddings, which libraries may have."""
        return self.manifest.ids

    @property
    def dim(self) -> int:
        """Dimension of the joint space."""
        return self.manifest.dim

    @property
    def languages(self) -> list[str]:
        """The languages that the model was trained on or that were added."""
        return list(self.manifest.languages)

    @property
    def similarity_name(self) -> str:
        """ "cosine", "dot" or "order"."""
        return self.manifest.similarity

    @cached_property
    def background(self) -> Background | None:
        """The background for calibrating scores, if the export has one."""
        return read_background(self.folder, self.manifest)

    @property
    def attends(self) -> bool:
        """Whether embeddings are sets of vectors: never, as such models cannot be exported."""
        return False

    @property
    def drawings(self) -> bool:
        """Whether it was trained on generated drawings only, not on photos."""
        return self.manifest.drawings

    @property
    def precision(self) -> str:
        """Storage precision of the weights: fp32, fp16 or int8."""
        return self.manifest.precision

    def encode_text(
        self,
        texts: Sequence[str] | str,
        language: str | None = None,
        batch_size: int = 256,
        show_progress: bool | None = None,
    ) -> np.ndarray:
        """Embeddings of texts, float32 [n, D]; like `Model.encode_text`, including warnings.

        Args:
            texts: n texts, or one.
            language: of all texts; by default, words are interpreted by their script.
            batch_size: texts per forward pass.
            show_progress: None shows a bar in a terminal if it takes long.
        """
        texts = listed_texts(texts)
        tokens = read_ids(self.embedder, texts, language)
        warn_of_unknown(self.embedder, texts, language, self.languages, stacklevel=3)
        return self.encode_tokens(tokens, language, batch_size, show_progress)

    def encode_tokens(
        self,
        tokens: EncodedTexts,
        language: str | None = None,
        batch_size: int = 256,
        show_progress: bool | None = False,
    ) -> np.ndarray:
        """Embeddings of ids, float32 [n, D].

        Args:
            tokens: n texts, as encoded by the embedder.
            language: of all texts.
            batch_size: texts per forward pass.
            show_progress: None shows a bar in a terminal if it takes long.
        """
        tower = tower_of(self.towers, self.manifest.pivots, language)
        result = np.empty((len(tokens.ids), self.dim), np.float32)
        unseen = tower.unseen_vectors(tokens.unseen)
        order = np.argsort(-tokens.ids.lengths, kind="stable")
        with Bar("text", len(order), "texts", show_progress) as bar:
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                result[rows] = tower(tokens, rows, unseen)
                bar.advance(len(rows))
        return result

    def unknown_words(
        self, texts: Sequence[str] | str, language: str | None = None
    ) -> list[tuple[str, ...]]:
        """The words of each text that the model does not know.

        Args:
            texts: n texts, or one.
            language: of all texts.
        """
        texts = listed_texts(texts)
        return [unknown for _, unknown in self.embedder.read(texts, language)]

    def encode_images(
        self,
        images: Iterable[GivenImage] | GivenImage,
        cache: Path | None = None,
        show_progress: bool | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> np.ndarray:
        """Embeddings of images, float32 [n, D]; nothing is stored on disk.

        Args:
            images: n images, or one, as for `Model.encode_images`.
            cache: ignored; for compatibility with `Model.encode_images`.
            show_progress: None shows a bar in a terminal if it takes long.
            on_error: "raise" raises an error for an unreadable image; with "skip" its row is NaN,
                and an `UnreadableImageWarning` names it.
        """
        if on_error not in ("raise", "skip"):
            raise PolyglanceError(f"on_error='{on_error}': must be 'raise' or 'skip'")
        with as_files(images) as (paths, names):
            result = np.full((len(paths), self.dim), np.nan, np.float32)
            with Bar("images", len(paths), "img", show_progress) as bar:
                for row, found in enumerate(self.images.embed_files(paths)):
                    if not isinstance(found, ImageProblem):
                        result[row] = found
                    elif on_error == "raise":
                        raise ImageProblem(Path(names[row]), found.reason)
                    else:
                        message = f"{names[row]}: skipped, {found.reason}"
                        warnings.warn(message, UnreadableImageWarning, stacklevel=2)
                    bar.advance()
        return result

    def encode_features(
        self, features: np.ndarray, lengths: np.ndarray | None = None
    ) -> np.ndarray:
        """Embeddings of image features, float32 [n, D].

        Args:
            features: [n, F], or sets [n, K, F], of the kind that the model was trained on.
            lengths: [n], number of valid vectors per set.
        """
        return self.images.embed(features, lengths)

    def encode_stored(self, features: Features, rows: np.ndarray) -> np.ndarray:
        """Embeddings [n, D] of the images at `rows` [n] of a feature store."""
        return self.images.embed_stored(features, rows)

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> np.ndarray:
        """Embeddings of a dataset's images, float32 [N, D]; NaN if one cannot be read.

        Args:
            dataset: whose images.
            cache: folder for features; None is the XDG cache.
            show_progress: None shows a bar in a terminal if it takes long.
        """
        if not self.manifest.feature.startswith("imported/"):
            check_images(dataset, self.manifest.feature)
            return self.encode_images(dataset.paths(), cache, show_progress, "skip")
        features = load_features(dataset, self.manifest.feature, cache)
        result = np.full((len(features), self.dim), np.nan, np.float32)
        rows = np.flatnonzero(features.available)
        result[rows] = self.encode_stored(features, rows)
        return result

    def similarity(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Scores [n, m] of n images and m texts encoded by this model; higher is closer."""
        compare = scores.get(self.similarity_name)
        return compare(*comparable(images, texts))


def load(folder: str | Path) -> ExportedModel:
    """Load a folder written by `polyglance export`; every file is verified.

    Args:
        folder: of the exported model; "base" is the included one.
    """
    place = model_folder(folder)
    check_model_folder(place)
    return ExportedModel(place, read_manifest(place))
