"""Word vectors of a language: from a user's files, or trained on sentences and cached."""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.data.text_only import text_only_file
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import DictionaryRare, Recipe, UniversalEmbedderRecipe
from polyglance.storage.digest import content_digest
from polyglance.storage.files import atomic, cache_dir, refuse_pipe
from polyglance.text.lexicon import Lexicon, lexicon_digest, lexicon_path
from polyglance.text.vectors.corpus import Sentences, text_only_sentences
from polyglance.text.vectors.read import read_vectors, vector_file
from polyglance.text.vectors.word_vectors import WordVectors

VERSION = 2
"""Increased when vectors cached by earlier versions become invalid."""


@dataclass(frozen=True)
class Corpus:
    """What vectors are trained on besides the training captions (text.embedder.corpus)."""

    recipe: Recipe
    dataset: Dataset
    languages: Sequence[str]

    @property
    def settings(self) -> UniversalEmbedderRecipe:
        """The recipe's embedder."""
        settings = self.recipe.text.embedder
        assert isinstance(settings, UniversalEmbedderRecipe)
        return settings

    @property
    def texts(self) -> Path | None:
        """The file of text-only captions, unless missing, not wanted, or trained on anyway."""
        trained_on = getattr(self.recipe.sampling, "text_only", False)
        unwanted = self.settings.corpus == "captions" or trained_on
        return None if unwanted else text_only_file(self.dataset)

    @property
    def lexicon(self) -> Path | None:
        """The lexicon, if its synonyms are used."""
        wanted = self.settings.corpus == "lexicon"
        return universal_lexicon(self.settings, "text.embedder.corpus=lexicon") if wanted else None

    @cached_property
    def key(self) -> str:
        """Digest of the files; their content is read only if the vectors are not cached."""
        return content_digest(
            b"\0" if path is None else bytes.fromhex(_digest(path))
            for path in (self.texts, self.lexicon)
        )

    @cached_property
    def sentences(self) -> dict[str, Sentences]:
        """Sentences by language."""
        found: dict[str, Sentences] = {code: [] for code in self.languages}
        if self.texts is not None:
            found = text_only_sentences(self.dataset, self.languages, self.recipe.text.tokenizer)
        if self.lexicon is not None:
            lexicon = Lexicon.open(self.lexicon)
            for code in self.languages:
                found[code] += lexicon.synonyms(code)
        return found


def _digest(path: Path) -> str:
    refuse_pipe(path)
    try:
        return lexicon_digest(path)
    except OSError as error:
        raise PolyglanceError(f"{path}: cannot be read: {error.strerror}") from None


def universal_lexicon(settings: UniversalEmbedderRecipe, needed_by: str) -> Path:
    """The lexicon of text.embedder.lexicon or the environment."""
    return lexicon_path(settings.lexicon, needed_by, "text.embedder.lexicon")


def needs_lexicon(recipe: Recipe) -> str | None:
    """The setting for which training needs a lexicon, if any."""
    settings = recipe.text.embedder
    if not isinstance(settings, UniversalEmbedderRecipe):
        return None
    if isinstance(settings.rare, DictionaryRare):
        return "text.embedder.rare.kind=dictionary"
    trains = settings.vectors is None and settings.corpus == "lexicon"
    return "text.embedder.corpus=lexicon" if trains else None


def language_vectors(
    code: str,
    words: Sequence[str],
    captions: Sequence[Sequence[str]],
    corpus: Corpus,
    cache: Path | None,
) -> WordVectors:
    """Vectors of those words of a language that have one, in order.

    Args:
        code: the language.
        words: to look up; all are in the captions.
        captions: the words of each training caption.
        corpus: what vectors are trained on besides the captions.
        cache: folder of cached vectors.
    """
    folder = corpus.settings.vectors
    if folder is not None:
        return _read(code, words, folder)
    known = sorted({word for caption in captions for word in caption})
    matrix = _trained(code, known, captions, corpus, cache)
    return WordVectors(list(words), matrix[np.searchsorted(known, list(words))])


def _read(code: str, words: Sequence[str], folder: str) -> WordVectors:
    path = vector_file(Path(folder).expanduser(), code, "text.embedder.vectors")
    found = read_vectors(path, only=words)
    kept = [word for word in words if word in found]
    if not kept:
        raise PolyglanceError(
            f"text.embedder.vectors: the file of '{code}' has a vector for none of the "
            f"{len(words)} words of its training captions"
        )
    return WordVectors(kept, found.matrix[found.rows(kept)])


def _trained(
    code: str,
    words: Sequence[str],
    captions: Sequence[Sequence[str]],
    corpus: Corpus,
    cache: Path | None,
) -> np.ndarray:
    """Vectors [n, dim] trained on the sentences, or from the cache."""
    dim = corpus.settings.vector_dim
    path = cache_dir(cache) / "vectors" / f"{_key(code, captions, corpus, dim)}.npy"
    kept = load_array(path)
    if kept is not None and kept.shape == (len(words), dim):
        return kept
    from polyglance.text.vectors.skipgram import VectorSettings, train_vectors

    sentences = [*captions, *corpus.sentences[code]]
    matrix = train_vectors(sentences, VectorSettings(dim=dim)).vectors(words, False)
    with atomic(path) as handle:
        np.save(handle, matrix, allow_pickle=False)
    return matrix


def load_array(path: Path) -> np.ndarray | None:
    """Load a file of `np.save` or `np.savez`; None if missing or damaged."""
    try:
        return np.load(path, allow_pickle=False) if path.is_file() else None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def _key(code: str, captions: Sequence[Sequence[str]], corpus: Corpus, dim: int) -> str:
    about = (VERSION, dim, code, corpus.recipe.text.tokenizer, corpus.key)
    lines = (" ".join(map(str, about)), *("\t".join(caption) for caption in captions))
    return content_digest(f"{line}\n" for line in lines)[:24]


def reduce_vectors(matrix: np.ndarray, dim: int) -> np.ndarray:
    """Project vectors [n, d] onto `dim` principal components, float32 [n, dim].

    With fewer than `dim` words the other components are 0; if d ≤ dim, nothing changes.
    """
    if matrix.shape[1] <= dim:
        return matrix
    centred = matrix.astype(np.float64) - matrix.mean(0, dtype=np.float64)
    values, directions = np.linalg.eigh(centred.T @ centred)
    return (centred @ directions[:, np.argsort(values)[::-1][:dim]]).astype(np.float32)
