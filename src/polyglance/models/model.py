"""`Model`: what users load, encode with and save."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch

from polyglance.data.dataset import Dataset
from polyglance.errors import NoWords, PolyglanceError
from polyglance.files import atomic, has_file, read_json, refuse_pipes, write_json
from polyglance.models.attention import Sets
from polyglance.models.build import build_network
from polyglance.models.cross_attention import one_vector
from polyglance.models.together import Together
from polyglance.progress import Bar
from polyglance.recipes import Recipe, check_recipe
from polyglance.sets import Codes, VectorSets
from polyglance.text import Ragged, Vocabulary, pad
from polyglance.text.added_words import AddedRows
from polyglance.text.pretrained import located
from polyglance.text.reader import Reader
from polyglance.text.readers import load_reader
from polyglance.text.reading import read_words
from polyglance.text.spelt_words import SpeltWords
from polyglance.text.transformer import TransformerTower
from polyglance.text.translated_words import TranslatedWords
from polyglance.text.universal_words import StoredWords, UniversalWords
from polyglance.text.vocabularies import Vocabularies
from polyglance.text.word_layers import KnownWords, WordTable
from polyglance.vision.extract import extract, load_features
from polyglance.vision.features import Features

CONFIG, WEIGHTS = "model.json", "model.safetensors"
FORMAT = 1
WORD_LAYERS = (WordTable, SpeltWords, UniversalWords, TranslatedWords, AddedRows)
FIXED_WORDS = (KnownWords, StoredWords, TranslatedWords)
IMAGES_AT_A_TIME, TEXTS_AT_A_TIME = 64, 512
"""Sets padded at a time where a model scores them."""
QUERIES_AT_MOST = 1000
"""Calls from several threads before all wait for the reader to forget new words."""


class Model:
    """A trained model: pictures and sentences become points of one space.

    `Model.load(folder).encode_text(["a dog", "ein Hund"])` gives float32 [2, D], normalised.
    A cross-attention model gives `VectorSets` instead, to be compared with `score`.
    """

    def __init__(
        self,
        recipe: Recipe,
        vocabulary: Vocabulary | Reader,
        feature_dim: int,
        languages: Sequence[str],
    ) -> None:
        self.recipe = recipe
        if isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabularies({"": vocabulary})
        self.reader = vocabulary
        self.feature_dim = feature_dim
        self.languages = sorted(languages)
        self.network = build_network(recipe, feature_dim, self.reader)
        self._was_training, self._reading = self.network.training, Lock()
        self._judging = Together(self._to_evaluation, self._to_former_mode)
        self._borrowing = Together(lambda: None, lambda: self.reader.release(), QUERIES_AT_MOST)

    @property
    def similarity(self) -> str:
        """ "cosine", "dot" or "order"; the squared order violation ranks as the plain one.

        A cross-attention model, "scan" or "imram", compares with its own `score`.
        """
        if self.attends:
            return self.recipe.attention.matching
        if self.recipe.joint.similarity != "cosine":
            return "order"
        return "dot" if self.recipe.compat.no_imgnorm else "cosine"

    @property
    def attends(self) -> bool:
        """Whether pictures and texts are `VectorSets` to be compared with `score`, not points."""
        return self.recipe.attention.matching != "none"

    @property
    def dim(self) -> int:
        """Size of the joint space."""
        return self.recipe.joint.dim

    def parameters(self) -> dict[str, int]:
        """Trainable numbers of each part; `frozen`, where there are any, are pretrained ones."""
        image, text = _size(self.network.image), _size(self.network.text)
        words, all_ = sum(map(_size, self._word_layers())), _size(self.network)
        rest = all_ - image - text
        frozen = sum(p.numel() for p in self.network.parameters() if not p.requires_grad)
        known = (m for m in self.network.modules() if isinstance(m, FIXED_WORDS))
        frozen += sum(layer.table.numel() for layer in known)
        parts = {"image": image, "words": words, "text": text - words}
        parts |= {"attention": rest} if rest else {}
        parts |= {"frozen": frozen} if frozen else {}
        return {**parts, "all": all_}

    def _word_layers(self) -> list[torch.nn.Module]:
        """What makes words into vectors; of a transformer, its tables."""
        text = self.network.text
        kind = torch.nn.Embedding if isinstance(text, TransformerTower) else WORD_LAYERS
        return [part for part in text.modules() if isinstance(part, kind)]

    def tokens(self, texts: Sequence[str], languages: Sequence[str] | str | None = None) -> Ragged:
        """Word ids of texts; one without any word is an error that names it."""
        found = self._read(texts, languages)
        self.reader.keep()
        return found

    def _read(self, texts: Sequence[str], languages: Sequence[str] | str | None) -> Ragged:
        """Word ids that are valid until the reader's `release`."""
        recipe = self.recipe.text
        read, words = read_words(recipe, texts, languages)
        for index, found in enumerate(words):
            if not found:
                raise NoWords(texts[index], index)
        codes = languages if not isinstance(languages, str | None) else [languages] * len(texts)
        return self.reader.encode(recipe, read, words, codes).ids

    def encode_text(
        self,
        texts: Sequence[str] | str,
        language: str | None = None,
        batch_size: int = 256,
        show_progress: bool | None = None,
    ) -> Codes:
        """Points of texts, float32 [n, D]. Without a language the script decides on words.

        Several threads may encode at a time, as long as none of them trains.
        """
        texts = [texts] if isinstance(texts, str) else list(texts)
        with self._borrowing:
            with self._reading:
                tokens = self._read(texts, language)
            return self.encode_tokens(tokens, language, batch_size, show_progress)

    def encode_tokens(
        self,
        tokens: Ragged,
        language: str | None = None,
        batch_size: int = 256,
        show_progress: bool | None = False,
    ) -> Codes:
        """Points of word ids, float32 [n, D]; sorted by length inside, so no step is wasted."""
        result = self._missing(tokens.lengths)
        order = np.argsort(-tokens.lengths, kind="stable")
        with self._inference(), Bar("text", len(order), "texts", show_progress) as bar:
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                ids, lengths = (torch.from_numpy(part) for part in pad(*tokens, rows))
                result[rows] = _to_numpy(self.network.embed_text(ids, lengths, language))
                bar.advance(len(rows))
        return result

    def encode_images(
        self,
        paths: Sequence[str | Path],
        cache: Path | None = None,
        show_progress: bool | None = None,
    ) -> Codes:
        """Points of picture files, float32 [n, D]; an unreadable picture is an error."""
        if self.recipe.image.feature.startswith("imported/"):
            raise PolyglanceError(
                f"this model was trained on '{self.recipe.image.feature}', which cannot be "
                "computed from pictures; train on an extractor such as efficientnet-lite2/global"
            )
        feature, files = self.recipe.image.feature, [Path(path) for path in paths]
        found = extract(files, feature, cache, show_progress=show_progress, skip_broken=False)
        return self.encode_features(found, np.arange(len(found)))

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Codes:
        """Points of a dataset's photographs, float32 [N, D]; NaN where one cannot be read."""
        features = load_features(
            dataset, self.recipe.image.feature, cache, show_progress=show_progress
        )
        return self.encode_available(features)

    def encode_available(self, features: Features) -> Codes:
        """Points of all images of `features`, [N, D]; NaN for those without features."""
        result = self._missing(features.lengths)
        rows = np.flatnonzero(features.available)
        result[rows] = self.encode_features(features, rows)
        return result

    def encode_features(self, features: Features, rows: np.ndarray, batch_size: int = 512) -> Codes:
        """Points of the images `rows` of `features`, float32 [len(rows), D]."""
        self.check_features(features)
        result = self._missing(features.lengths[rows])
        with self._inference():
            for start in range(0, len(rows), batch_size):
                batch = to_tensors(features, rows[start : start + batch_size])
                result[start : start + batch_size] = _to_numpy(self.network.embed_images(*batch))
        return result

    def score(self, images: Codes, captions: Codes) -> np.ndarray:
        """Scores [N, M] of pictures and texts as this model encodes them; higher is closer."""
        result = np.empty((len(images), len(captions)), np.float32)
        with self._inference():
            for a, b in product(
                range(0, len(images), IMAGES_AT_A_TIME), range(0, len(captions), TEXTS_AT_A_TIME)
            ):
                place = slice(a, a + IMAGES_AT_A_TIME), slice(b, b + TEXTS_AT_A_TIME)
                tile = _to_torch(images[place[0]]), _to_torch(captions[place[1]])
                result[place] = self.network.scores(*tile).numpy()
        return result

    def _missing(self, lengths: np.ndarray) -> Codes:
        """Codes to be filled in, of images or texts with `lengths` [n] vectors."""
        if self.attends:
            return VectorSets.empty(lengths, self.dim)
        return np.full((len(lengths), self.dim), np.nan, np.float32)

    def check_features(self, features: Features) -> None:
        """Features of another size or form than the model's are an error."""
        if self.attends and features.form == "global":
            raise PolyglanceError(one_vector(f"features '{features.name}'"))
        if features.dim != self.feature_dim:
            raise PolyglanceError(
                f"the model takes features of size {self.feature_dim} "
                f"({self.recipe.image.feature}), and '{features.name}' has size {features.dim}; "
                "import the features it was trained on, or train a model on these"
            )

    def save(self, folder: Path, **facts: Any) -> None:
        """Write model.json (with `facts`), the reader's files and model.safetensors."""
        self.save_config(folder, **facts)
        self.save_weights(folder)

    def save_config(self, folder: Path, **facts: Any) -> None:
        """Write what does not change in training."""
        from polyglance import __version__

        self.reader.save(folder)
        config = {
            "format": FORMAT,
            "version": __version__,
            "languages": self.languages,
            "feature_dim": self.feature_dim,
            "recipe": self.recipe.model_dump(mode="json"),
            **facts,
        }
        write_json(folder / CONFIG, config)

    def save_weights(self, folder: Path) -> None:
        """Write the weights alone, atomically."""
        from safetensors.torch import save

        state = {name: value.contiguous() for name, value in self.network.state_dict().items()}
        with atomic(folder / WEIGHTS) as handle:
            handle.write(save(state, {"format": "pt"}))

    @classmethod
    def load(cls, folder: str | Path) -> "Model":
        """Read a model folder, such as the RUN of `polyglance train`."""
        folder = Path(folder)
        if not has_file(folder / CONFIG):
            raise PolyglanceError(f"{folder}: not a model, it has no {CONFIG}")
        model = cls.from_config(folder)
        model.load_weights(folder)
        return model

    @classmethod
    def from_config(cls, folder: Path) -> "Model":
        """The model of a folder with fresh weights."""
        refuse_pipes(folder)
        config = read_json(folder / CONFIG)
        where = str(folder / CONFIG)
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise PolyglanceError(f"{where}: not a model of format {FORMAT}; train it again")
        recipe = check_recipe(config.get("recipe"), where)
        recipe = recipe.model_copy(update={"text": located(recipe.text, folder)})
        reader = load_reader(recipe.text, folder)
        dim, languages = config.get("feature_dim"), config.get("languages")
        if type(dim) is not int or dim < 1:
            raise PolyglanceError(f"{where}: field 'feature_dim' must be a number of 1 or more")
        if not isinstance(languages, list) or not all(isinstance(one, str) for one in languages):
            raise PolyglanceError(f"{where}: field 'languages' must be a list of codes")
        return cls(recipe, reader, dim, languages)

    def load_weights(self, folder: Path) -> None:
        """Read the weights of a folder into this model."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        path = folder / WEIGHTS
        if not has_file(path):
            raise PolyglanceError(f"{path}: no weights yet; the training has not evaluated once")
        try:
            self.network.load_state_dict(load_file(path))
        except (SafetensorError, RuntimeError) as error:
            reason = str(error).splitlines()[-1].strip()
            raise PolyglanceError(
                f"{path}: the weights do not fit, or are damaged ({reason}); "
                "copy the whole folder again, or train again"
            ) from None

    @contextmanager
    def _inference(self) -> Iterator[None]:
        """Evaluation mode without gradients; the last thread to leave restores the mode."""
        with self._judging, torch.inference_mode():
            yield

    def _to_evaluation(self) -> None:
        self._was_training = self.network.training
        self.network.eval()

    def _to_former_mode(self) -> None:
        self.network.train(self._was_training)


def to_tensors(features: Features, rows: np.ndarray) -> tuple[torch.Tensor, ...]:
    """Features of images as the tower takes them: ([n, F],) or ([n, K, F], lengths [n])."""
    # Torch widens float16 about ten times as fast as numpy.
    gathered = features.gather(rows, np.float16)
    vectors, *lengths = gathered if isinstance(gathered, tuple) else (gathered,)
    return torch.from_numpy(vectors).float(), *(torch.from_numpy(part) for part in lengths)


def _to_numpy(codes: torch.Tensor | Sets) -> Codes:
    if isinstance(codes, Sets):
        return VectorSets.from_padded(codes.vectors.numpy(), codes.lengths.numpy())
    return codes.numpy()


def _to_torch(codes: Codes) -> torch.Tensor | Sets:
    if isinstance(codes, VectorSets):
        return Sets(*(torch.from_numpy(part) for part in codes.padded()))
    return torch.from_numpy(np.asarray(codes, np.float32))


def _size(module: torch.nn.Module) -> int:
    return sum(part.numel() for part in module.parameters() if part.requires_grad)
