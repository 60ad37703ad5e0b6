"""Tuples of texts without images, in any number of files: read as ids only when they are drawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.held_out import held_out_texts, without_texts
from polyglance.data.text_only import needed_text_only_file, read_tuples
from polyglance.models import Model
from polyglance.recipes.schema import ImageSampling, Recipe
from polyglance.text.embedders import Embedder, EncodedTexts
from polyglance.text.tokenizers import read_words
from polyglance.text.tokenizers.base import has_word


@dataclass(frozen=True)
class TupleTexts:
    """Texts of tuples; `files` says which of them are of which file.

    They stay texts: ids of a million would take more memory, and minutes before the first update.
    """

    texts: list[str]
    tuple_of: np.ndarray
    languages: list[str]
    files: tuple[slice, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def read(self, rows: np.ndarray, embedder: Embedder) -> EncodedTexts:
        """The texts `rows` [n] as a model reads them."""
        codes = [self.languages[row] for row in rows]
        texts = [self.texts[row] for row in rows]
        return embedder.encode(*read_words(embedder.recipe.text, texts, codes, False), codes)

    def table(self, first: int) -> CaptionTable:
        """As captions of images from number `first` on, for a vocabulary."""
        return CaptionTable(
            self.texts, self.tuple_of + first, self.languages, ["text-only"] * len(self)
        )


def read_tuple_texts(
    recipe: Recipe, dataset: Dataset, readable: set[str] | None
) -> TupleTexts | None:
    """The texts that `sampling.text_only` and `text_files` name; None without any.

    Texts without a word are left out, and tuples with a caption of an image of another split,
    word for word: what a model is evaluated on is not trained on, not even as a text.

    Args:
        recipe: of any sampling; others than `images` have none of these.
        dataset: whose folder may have text-only captions.
        readable: languages to take; None is all.
    """
    sampling = recipe.sampling
    if not isinstance(sampling, ImageSampling) or not sampling.reads_texts:
        return None
    keys = held_out_texts(dataset, recipe.data.more, recipe.data.train_split)
    parts = [without_texts(part, keys) for part in _tables(sampling, dataset, readable)]
    ends = np.cumsum([len(part) for part in parts]).tolist()
    return TupleTexts(
        [text for part in parts for text in part.texts],
        np.concatenate([part.image for part in parts]),
        [code for part in parts for code in part.languages],
        tuple(slice(end - len(part), end) for end, part in zip(ends, parts, strict=True)),
    )


def _tables(
    sampling: ImageSampling, dataset: Dataset, readable: set[str] | None
) -> Iterator[CaptionTable]:
    paths = [needed_text_only_file(dataset)] if sampling.text_only else []
    first = 0
    for path in [*paths, *(Path(name).expanduser() for name in sampling.text_files)]:
        found = read_tuples(path, readable, first)
        rows = [row for row, text in enumerate(found.texts) if has_word(text)]
        yield found.take(np.array(rows, np.int64))
        first = int(found.image.max(initial=first - 1)) + 1


def learn_languages(model: Model, texts: TupleTexts | None) -> None:
    """A model is trained on the languages of texts without images, too."""
    if texts is not None:
        model.languages = sorted({*model.languages, *texts.languages})
