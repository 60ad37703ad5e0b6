"""`Model`: what users load, encode with and save."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from polyglance.data.dataset import Dataset
from polyglance.data.given import GivenImage, as_files
from polyglance.devices import CPU, Device, choose_device, move, place
from polyglance.errors import ImageProblem, PolyglanceError, UnreadableImageWarning
from polyglance.files import atomic, has_file, write_json
from polyglance.models.attention import Sets
from polyglance.models.folder import CONFIG, FORMAT, WEIGHTS, read_config, read_weights
from polyglance.models.network import Network, build_network
from polyglance.progress import Bar
from polyglance.recipes import Recipe
from polyglance.recipes.schema.recipe import ONE_VECTOR
from polyglance.sets import Embeddings, VectorSets
from polyglance.similarity import scores
from polyglance.text.embedders import Embedder, EncodedTexts, TextBatch
from polyglance.text.reading import read_ids, warn_of_unknown
from polyglance.trust import trusting
from polyglance.vision.extract import check_images, extract, load_features
from polyglance.vision.features import Features
from polyglance.vision.image_files import ImageFiles, check_files

SEEN_AT_A_TIME = 16
"""Images that a network in the tower sees at a time."""
IMAGES_AT_A_TIME, TEXTS_AT_A_TIME = 64, 512
"""Sets padded at a time where a model scores them."""


class Model:
    """A trained model that embeds images and texts in one space.

    `Model.load(folder).encode_text(["a dog", "ein Hund"])` returns float32 [2, D], normalised. A
    cross-attention model returns `VectorSets` instead; `similarity` compares either. Encoding is
    thread-safe.
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
        """Whether it was trained on generated drawings, and so has seen no photograph."""
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
        text = self.network.text
        layers = text.word_layers()
        image, total = count_trained(self.network.image), count_trained(self.network)
        words, all_text = sum(map(count_trained, layers)), count_trained(text)
        rest = total - image - all_text
        frozen = sum(p.numel() for p in self.network.parameters() if not p.requires_grad)
        frozen += sum(getattr(layer, "fixed", 0) for layer in layers)
        frozen += self.network.image.fixed
        parts = {"image": image, "words": words, "text": all_text - words}
        parts |= {"attention": rest} if rest else {}
        parts |= {"frozen": frozen} if frozen else {}
        return {**parts, "all": total}

    def tokens(
        self, texts: Sequence[str], languages: Sequence[str] | str | None = None
    ) -> EncodedTexts:
        """Token ids of texts; a text without any word raises an error that names it.

        Args:
            texts: n texts.
            languages: the language of all, or of each; None where it is not known.
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
            language: of all texts; without it, the script decides.
            batch_size: number of texts per batch.
            show_progress: None shows a progress bar in a terminal for long operations.
        """
        texts = [texts] if isinstance(texts, str) else list(texts)
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
        texts = [texts] if isinstance(texts, str) else list(texts)
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
        result = self._missing(self.network.text_sizes(lengths))
        order = np.argsort(-lengths, kind="stable")
        with torch.inference_mode(), Bar("text", len(order), "texts", show_progress) as bar:
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                ids, steps = (torch.from_numpy(part) for part in tokens.ids.pad(rows))
                batch = move(TextBatch(ids, steps, tokens.unseen), self.device)
                result[rows] = _to_numpy(self.network.embed_text(batch, language))
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
        result = self._missing(self.network.image_sizes(features.lengths))
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
            rows: [n], the images wanted.
            batch_size: images encoded at a time, of features.
            show_progress: for files; None shows a progress bar in a terminal for long operations.
        """
        self.check_features(features)
        result = self._missing(self.network.image_sizes(features.lengths[rows]))
        done = 0
        shown = show_progress if isinstance(features, ImageFiles) else False
        with torch.inference_mode(), Bar("images", len(rows), "img", shown) as bar:
            for parts in self.image_parts(features, rows, batch_size):
                count = len(parts[0])
                result[done : done + count] = _to_numpy(self.network.embed_images(*parts))
                done += count
                bar.advance(count)
        return result

    @torch.inference_mode()
    def image_parts(
        self, features: Features | ImageFiles, rows: np.ndarray, batch_size: int = 512
    ) -> Iterator[tuple[torch.Tensor, ...]]:
        """What the tower takes of images, some at a time: ([n, F],) or ([n, K, F], lengths [n]).

        Args:
            features: of the images and perhaps others, or their files.
            rows: the images wanted.
            batch_size: images at a time, of features.
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
            return compare(*(np.atleast_2d(np.asarray(x, np.float32)) for x in (images, texts)))
        result = np.empty((len(images), len(texts)), np.float32)
        with torch.inference_mode():
            for a, b in product(
                range(0, len(images), IMAGES_AT_A_TIME), range(0, len(texts), TEXTS_AT_A_TIME)
            ):
                place = slice(a, a + IMAGES_AT_A_TIME), slice(b, b + TEXTS_AT_A_TIME)
                tile = _to_torch(images[place[0]]), _to_torch(texts[place[1]])
                result[place] = self.network.scores(*move(tile, self.device)).cpu().numpy()
        return result

    def _missing(self, lengths: np.ndarray) -> Embeddings:
        """Embeddings to be filled in, of images or texts with `lengths` [n] vectors."""
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
                f"({self.recipe.image.feature}), and '{features.name}' has {features.dim}; "
                "import the features it was trained on, or train a model on these"
            )

    def save(self, folder: Path, **facts: Any) -> None:
        """Write model.json (with `facts`), the embedder's files and model.safetensors."""
        self.save_config(folder, **facts)
        self.save_weights(folder)

    def save_config(self, folder: Path, **facts: Any) -> None:
        """Write everything that does not change in training."""
        from polyglance.version import __version__

        config = {
            "format": FORMAT,
            "version": __version__,
            "languages": self.languages,
            "feature_dim": self.feature_dim,
            "recipe": self.recipe.model_dump(mode="json"),
            **({"drawings": True} if self.drawings else {}),
            **facts,
        }
        # First: what is written besides is then a run that can be resumed.
        write_json(folder / CONFIG, config)
        self.embedder.save(folder)

    def save_weights(self, folder: Path) -> None:
        """Write only the weights, atomically."""
        from safetensors.torch import save

        weights = self.network.state_dict().items()
        state = {name: value.cpu().contiguous() for name, value in weights}
        with atomic(folder / WEIGHTS) as handle:
            handle.write(save(state, {"format": "pt"}))

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
        if not has_file(folder / CONFIG):
            raise PolyglanceError(f"{folder}: not a model, it has no {CONFIG}")
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


def to_tensors(features: Features, rows: np.ndarray) -> tuple[torch.Tensor, ...]:
    """Features of images as the tower takes them: ([n, F],) or ([n, K, F], lengths [n])."""
    # Torch widens float16 about ten times as fast as numpy.
    vectors, *lengths = _gathered(features, rows)
    return vectors.float(), *lengths


def read_features(
    features: Features, rows: np.ndarray, device: torch.device
) -> tuple[torch.Tensor, ...]:
    """`to_tensors` for a device they are yet to be copied to: half as many bytes off the CPU.

    Args:
        features: of the images and perhaps others.
        rows: [n], the images wanted.
        device: where they will be widened to float32.
    """
    return to_tensors(features, rows) if device.type == CPU else _gathered(features, rows)


def _gathered(features: Features, rows: np.ndarray) -> tuple[torch.Tensor, ...]:
    gathered = features.gather(rows, np.float16)
    parts = gathered if isinstance(gathered, tuple) else (gathered,)
    return tuple(torch.from_numpy(part) for part in parts)


def count_trained(module: torch.nn.Module) -> int:
    """Parameters of a module that training changes."""
    return sum(part.numel() for part in module.parameters() if part.requires_grad)


def _to_numpy(embeddings: torch.Tensor | Sets) -> Embeddings:
    if isinstance(embeddings, Sets):
        vectors, lengths = (part.cpu().numpy() for part in embeddings)
        return VectorSets.from_padded(vectors, lengths)
    return embeddings.cpu().numpy()


def _to_torch(embeddings: Embeddings) -> torch.Tensor | Sets:
    if isinstance(embeddings, VectorSets):
        return Sets(*(torch.from_numpy(part) for part in embeddings.pad()))
    return torch.from_numpy(np.asarray(embeddings, np.float32))
