"""`Model`: load, encode, compare, save."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from polyglance.core.progress import Bar
from polyglance.core.trust import trusting
from polyglance.data.dataset import Dataset
from polyglance.data.images.inputs import GivenImage, as_files
from polyglance.errors import ImageProblem, PolyglanceError, UnreadableImageWarning
from polyglance.models.folder import (
    read_config,
    read_weights,
    refuse_no_model,
    write_config,
    write_weights,
)
from polyglance.models.networks.network import Network, build_network
from polyglance.models.parameters import parameters_by_part
from polyglance.models.tensors import score_sets, to_numpy, to_tensors
from polyglance.numerics.devices import CPU, Device, choose_device, move, place
from polyglance.numerics.sets import Embeddings, VectorSets
from polyglance.numerics.similarity import comparable, scores
from polyglance.recipes import Recipe
from polyglance.recipes.schema.recipe import ONE_VECTOR
from polyglance.text.embedders import Embedder, EncodedTexts, TextBatch
from polyglance.text.reading import listed_texts, read_ids, warn_of_unknown
from polyglance.vision.extraction.extract import check_images, extract, load_features
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles, check_files

SEEN_AT_A_TIME = 16
"""Batch size of an image network in the tower."""


class Model:
    """A trained model that embeds images and texts in one space.

    `polyglance.load(folder)` opens the model of a run. Embeddings are float32 [n, D], normalised;
    those of a cross-attention model are `VectorSets`. `similarity` compares either. Encoding is
    thread-safe.

    Args:
        recipe: the system.
        embedder: maps words to ids; determines the text tower's first layer.
        feature_dim: dimension F of the images' features.
        languages: those of the training captions.
        drawings: whether it is trained on generated drawings, not photographs.

    An untrained one:

    >>> from polyglance.recipes import load_recipe
    >>> from polyglance.text.embedders import TableEmbedder, Vocabulary
    >>> recipe = load_recipe("nce", {"text.encoder.hidden": 8, "joint.dim": 16})
    >>> embedder = TableEmbedder(recipe, {"": Vocabulary(["dog", "cat"])})
    >>> model = Model(recipe, embedder, feature_dim=4, languages=["en"])
    >>> texts = model.encode_text(["dog", "cat"])
    >>> texts.shape, model.similarity(texts, texts).shape
    ((2, 16), (2, 2))
    """

    def __init__(
        self,
        recipe: Recipe,
        embedder: Embedder,
        feature_dim: int,
        languages: Sequence[str],
        drawings: bool = False,
    ) -> None:
        self.recipe, self.embedder = recipe, embedder
        self.feature_dim = feature_dim
        self.languages = sorted(languages)
        self.drawings = drawings
        """Whether it was trained on generated drawings, not photographs."""
        self.network: Network = build_network(recipe, feature_dim, embedder).eval()

    @property
    def similarity_name(self) -> str:
        """ "cosine", "dot", "order", "scan", "imram" or "hgr".

        The squared order violation gives the same ranking as the plain one.
        """
        kind = str(self.recipe.joint.similarity.kind)
        return "dot" if kind == "cosine" and self.recipe.compat.no_imgnorm else kind

    @property
    def attends(self) -> bool:
        """Whether embeddings are sets of vectors, compared by cross-attention."""
        return self.recipe.joint.attends

    @property
    def dim(self) -> int:
        """Dimension of the joint space."""
        return self.recipe.joint.dim

    @property
    def device(self) -> torch.device:
        """Device of the network."""
        return next(self.network.parameters()).device

    def to(self, device: Device) -> "Model":
        """Move the network to a device: auto, cpu, cuda, cuda:N or mps; returns this model."""
        place(self.network, choose_device(device))
        return self

    def parameters(self) -> dict[str, int]:
        """Number of trained parameters per part; `frozen` counts pretrained ones, if any."""
        return parameters_by_part(self.network)

    def tokens(
        self, texts: Sequence[str], languages: Sequence[str] | str | None = None
    ) -> EncodedTexts:
        """Token ids of texts; a text without words is an error.

        Args:
            texts: n texts.
            languages: one language for all, one per text, or None if unknown.
        """
        return read_ids(self.embedder, texts, languages)

    def encode_text(
        self,
        texts: Sequence[str] | str,
        language: str | None = None,
        batch_size: int = 256,
        show_progress: bool | None = None,
    ) -> Embeddings:
        """Embeddings of texts, float32 [n, D].

        Unknown words raise an `UnknownWordsWarning`: the embedding of a text without any known
        word is meaningless. A language that the model was not trained on raises an
        `UnknownLanguageWarning`. `unknown_words` lets you check beforehand.

        Args:
            texts: n texts, or one.
            language: of all texts; None to go by script.
            batch_size: number of texts per batch.
            show_progress: None shows a progress bar in a terminal for long operations.
        """
        texts = listed_texts(texts)
        tokens = self.tokens(texts, language)
        warn_of_unknown(self.embedder, texts, language, self.languages, stacklevel=3)
        return self.encode_tokens(tokens, language, batch_size, show_progress)

    def unknown_words(
        self, texts: Sequence[str] | str, language: str | None = None
    ) -> list[tuple[str, ...]]:
        """The words of each text that the model does not know.

        `model.unknown_words("ein Zebra", "de")[0]` lists the words that are ignored; if these are
        all words of the text, its embedding is meaningless.

        Args:
            texts: n texts, or one.
            language: of all of them.
        """
        texts = listed_texts(texts)
        return [unknown for _, unknown in self.embedder.read(texts, language)]

    def encode_tokens(
        self,
        tokens: EncodedTexts,
        language: str | None = None,
        batch_size: int = 256,
        show_progress: bool | None = False,
    ) -> Embeddings:
        """Embeddings of token ids, float32 [n, D]; sorted by length internally, to save padding.

        Args:
            tokens: n texts, as returned by `tokens`.
            language: of all of them.
            batch_size: number of texts per batch.
            show_progress: None shows a progress bar in a terminal for long operations.
        """
        lengths = tokens.ids.lengths
        result = self._empty(self.network.text_sizes(lengths))
        order = np.argsort(-lengths, kind="stable")
        with torch.inference_mode(), Bar("text", len(order), "texts", show_progress) as bar:
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                ids, steps = (torch.from_numpy(part) for part in tokens.ids.pad(rows))
                batch = move(TextBatch(ids, steps, tokens.unseen), self.device)
                result[rows] = to_numpy(self.network.embed_text(batch, language))
                bar.advance(len(rows))
        return result

    def encode_images(
        self,
        images: Iterable[GivenImage] | GivenImage,
        cache: Path | None = None,
        show_progress: bool | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> Embeddings:
        """Embeddings of images, float32 [n, D].

        Args:
            images: n images, or one: paths, file contents, Pillow images, or arrays [H, W] or
                [H, W, 1|3|4] of uint8 or of floats from 0 to 1; [n, H, W, C] are n of them.
            cache: folder for features; None is the XDG cache.
            show_progress: None shows a progress bar in a terminal for long operations.
            on_error: with "raise", an unreadable image raises an error. With "skip", its row is NaN
                (for a cross-attention model an empty set), so that rows stay in the order of the
                images, and an `UnreadableImageWarning` names it.
        """
        if on_error not in ("raise", "skip"):
            raise PolyglanceError(f"on_error='{on_error}': must be 'raise' or 'skip'")
        feature = self.recipe.image.feature
        if feature.startswith("imported/"):
            raise PolyglanceError(
                f"this model was trained on '{feature}', which cannot be computed from images; "
                "train on an extractor such as efficientnet-lite2/global"
            )
        skip = on_error == "skip"
        with as_files(images) as (paths, names):
            called = dict(zip(paths, names, strict=True))
            try:
                found = self.read_files(paths, cache, show_progress, skip)
                result = self.encode_available(found, show_progress)
            except ImageProblem as problem:
                raise ImageProblem(Path(called[problem.path]), problem.reason) from None
        for path, reason in found.problems:
            message = f"{called[path]}: skipped, {reason}"
            warnings.warn(message, UnreadableImageWarning, stacklevel=2)
        return result

    def read_files(
        self,
        paths: Sequence[Path],
        cache: Path | None = None,
        show_progress: bool | None = None,
        skip_unreadable: bool = True,
    ) -> Features | ImageFiles:
        """Input of the image tower for files: their features, or the files themselves.

        Args:
            paths: of the images.
            cache: folder for features; None is the XDG cache.
            show_progress: None shows a progress bar in a terminal for long operations.
            skip_unreadable: whether to list unreadable images in `problems` instead of raising an
                error for the first.
        """
        network, feature = self.network.image.backbone, self.recipe.image.feature
        if network is None:
            return extract(
                paths,
                feature,
                cache,
                show_progress=show_progress,
                skip_unreadable=skip_unreadable,
                device=self.device,
            )
        problems = check_files(paths, show_progress, skip_unreadable)
        return network.files(feature, list(paths), problems, cache)

    def read_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Features | ImageFiles:
        """Input of the image tower for a dataset's images, in their order.

        Args:
            dataset: the dataset.
            cache: folder for features; None is the XDG cache.
            show_progress: None shows a progress bar in a terminal for long operations.
        """
        feature = self.recipe.image.feature
        if self.network.image.backbone is None:
            how: dict[str, Any] = {"show_progress": show_progress, "device": self.device}
            return load_features(dataset, feature, cache, **how)
        check_images(dataset, feature)
        return self.read_files(dataset.paths(), cache, show_progress)

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Embeddings:
        """Embeddings of a dataset's images, float32 [N, D]; NaN for unreadable ones.

        Args:
            dataset: the dataset.
            cache: folder for features; None is the XDG cache.
            show_progress: None shows a progress bar in a terminal for long operations.
        """
        return self.encode_available(
            self.read_dataset(dataset, cache, show_progress), show_progress
        )

    def encode_available(
        self, features: Features | ImageFiles, show_progress: bool | None = False
    ) -> Embeddings:
        """Embeddings of all images of `features`, [N, D]; NaN for those without features."""
        result = self._empty(self.network.image_sizes(features.lengths))
        rows = np.flatnonzero(features.available)
        result[rows] = self.encode_features(features, rows, show_progress=show_progress)
        return result

    def encode_features(
        self,
        features: Features | ImageFiles,
        rows: np.ndarray,
        batch_size: int = 512,
        show_progress: bool | None = False,
    ) -> Embeddings:
        """Embeddings of images, float32 [n, D].

        Args:
            features: of the images and perhaps others, or their files.
            rows: [n], the images to encode.
            batch_size: images per batch, for features.
            show_progress: for files; None shows a progress bar in a terminal for long operations.
        """
        self.check_features(features)
        result = self._empty(self.network.image_sizes(features.lengths[rows]))
        done = 0
        shown = show_progress if isinstance(features, ImageFiles) else False
        with torch.inference_mode(), Bar("images", len(rows), "img", shown) as bar:
            for parts in self.image_parts(features, rows, batch_size):
                count = len(parts[0])
                result[done : done + count] = to_numpy(self.network.embed_images(*parts))
                done += count
                bar.advance(count)
        return result

    @torch.inference_mode()
    def image_parts(
        self, features: Features | ImageFiles, rows: np.ndarray, batch_size: int = 512
    ) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yield the tower's inputs in batches: ([n, F],) or ([n, K, F], lengths [n]).

        Args:
            features: of the images and perhaps others, or their files.
            rows: the images to use.
            batch_size: images per batch, for features.
        """
        if isinstance(features, ImageFiles):
            assert self.network.image.backbone is not None
            for pixels in features.batches(rows, SEEN_AT_A_TIME):
                yield self.network.image.backbone(torch.from_numpy(pixels).to(self.device))
            return
        for start in range(0, len(rows), batch_size):
            yield move(to_tensors(features, rows[start : start + batch_size]), self.device)

    def similarity(self, images: Embeddings, texts: Embeddings) -> np.ndarray:
        """Scores [n, m] of n encoded images and m encoded texts; higher is closer.

        The similarity is the one used in training: cosine, order violation, or cross-attention.
        Rows are images, columns are texts; order violations and cross-attention are not
        symmetric. A single vector [D] counts as one image or text.
        """
        if not self.attends:
            compare = scores.get(self.similarity_name)
            return compare(*comparable(images, texts))
        return score_sets(self.network, images, texts, self.device)

    def _empty(self, lengths: np.ndarray) -> Embeddings:
        """Empty embeddings of images or texts with `lengths` [n] vectors, to be filled in."""
        if self.attends:
            return VectorSets.empty(lengths, self.dim)
        return np.full((len(lengths), self.dim), np.nan, np.float32)

    def check_features(self, features: Features | ImageFiles) -> None:
        """Raise an error if the features' dimension or form is not the model's."""
        if self.attends and features.form == "global":
            raise PolyglanceError(f"features '{features.name}': {ONE_VECTOR}")
        if features.dim != self.feature_dim:
            raise PolyglanceError(
                f"the model takes features of dimension {self.feature_dim} "
                f"({self.recipe.image.feature}), but '{features.name}' has {features.dim}; "
                "import the features it was trained on, or train a model on these"
            )

    def save(self, folder: Path, **facts: Any) -> None:
        """Write model.json (with `facts`), the embedder's files and model.safetensors."""
        self.save_config(folder, **facts)
        self.save_weights(folder)

    def save_config(self, folder: Path, **facts: Any) -> None:
        """Write everything that does not change in training."""
        facts = {"drawings": True, **facts} if self.drawings else facts
        write_config(folder, self.recipe, self.embedder, self.feature_dim, self.languages, facts)

    def save_weights(self, folder: Path) -> None:
        """Write only the weights, atomically."""
        write_weights(folder, self.network)

    @classmethod
    def load(cls, folder: str | Path, trust: bool = False, device: Device = CPU) -> "Model":
        """Read a model folder, such as the RUN of `polyglance train`.

        Args:
            folder: of the model.
            trust: whether its files may name networks to download and paths outside the folder,
                as for a model trained with your own backbone or vectors.
            device: auto, cpu, cuda, cuda:N or mps.
        """
        folder, chosen = Path(folder), choose_device(device)
        refuse_no_model(folder)
        with trusting(trust):
            model = cls(*read_config(folder, with_weights=True))
        model.load_weights(folder)
        return model.to(chosen)

    @classmethod
    def from_config(cls, folder: Path) -> "Model":
        """The model of a folder with newly initialised weights."""
        return cls(*read_config(folder))

    def load_weights(self, folder: Path) -> None:
        """Read the weights of a folder into this model."""
        self.network.load_state_dict(read_weights(folder, self.network))
