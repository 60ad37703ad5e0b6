"""Text-only tuples, in any number of files; converted to ids only when drawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.leakage import held_out_texts, without_texts
from polyglance.data.text_only import needed_text_only_file, read_tuples
from polyglance.models import Model
from polyglance.recipes.schema import ImageSampling, Recipe
from polyglance.text.embedders import Embedder, EncodedTexts
from polyglance.text.tokenizers import read_words
from polyglance.text.tokenizers.base import has_word


@dataclass(frozen=True)
class TupleTexts:
    """Texts of tuples; `files` has the range of each file.

    They are kept as strings: ids of a million texts would take more memory, and minutes to make.
    """

    texts: list[str]
    tuple_of: np.ndarray
    languages: list[str]
    files: tuple[slice, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def read(self, rows: np.ndarray, embedder: Embedder) -> EncodedTexts:
        """The texts `rows` [n] as ids."""
        codes = [self.languages[row] for row in rows]
        texts = [self.texts[row] for row in rows]
        return embedder.encode(*read_words(embedder.recipe.text, texts, codes, False), codes)

    def table(self, first: int) -> CaptionTable:
        """As captions of images numbered from `first`, for a vocabulary."""
        return CaptionTable(
            self.texts, self.tuple_of + first, self.languages, ["text-only"] * len(self)
        )


def read_tuple_texts(
    recipe: Recipe, dataset: Dataset, readable: set[str] | None
) -> TupleTexts | None:
    """The texts that `sampling.text_only` and `text_files` name; None without any.

    Texts without words are left out, and so are tuples that contain, word for word, a caption of
    another split, so that no evaluation text is trained on.

    Args:
        recipe: with any sampling; only `images` has such texts.
        dataset: whose folder may have text-only captions.
        readable: languages to keep; None is all.
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


def add_tuple_languages(model: Model, texts: TupleTexts | None) -> None:
    """Add the languages of text-only tuples to the model's."""
    if texts is not None:
        model.languages = sorted({*model.languages, *texts.languages})
