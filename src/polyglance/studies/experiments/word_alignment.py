"""How many words are translated correctly after an alignment.

RCSLS: Joulin et al. 2018; CSLS: Conneau et al. 2018, §2.3.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from polyglance.studies.experiments.base import DataSettings, Experiment, Measured

if TYPE_CHECKING:
    from polyglance.data.dataset import Dataset

ABOUT = (
    "Word vectors are trained on the dataset's captions, separately for each language. A matrix is "
    "learned from four fifths of the dictionary's words; the others, a different sample for each "
    "seed, are translated to the nearest of all target words by cosine (NN), or by CSLS, which "
    "corrects for words that are close to many others. Any translation in the dictionary counts "
    "as correct."
)

TOKENIZER = "words"


class AlignmentSettings(DataSettings):
    """One language pair and one alignment method."""

    pair: str = Field("fr-de", description="source and target language")
    method: Literal["none", "svd", "rcsls"] = "rcsls"
    spectral: bool = Field(False, description="of rcsls: keep singular values at most 1")
    iterations: int = Field(10, ge=0)
    trained: Literal["cooccurrence", "skipgram"] = "cooccurrence"
    dim: int = Field(300, ge=1)
    centre: bool = True
    dictionary: str = "lexicon"
    translations: int | None = Field(1, ge=1, description="per word, to learn from; null is all")


def measures(settings: AlignmentSettings) -> list[str]:
    """ "NN fr-de", "CSLS fr-de", and with "@10" """
    return [f"{way}{at} {settings.pair}" for at in ("", "@10") for way in ("NN", "CSLS")]


def run(settings: AlignmentSettings, dataset: "Dataset", cache: Path | None) -> Measured:
    """Make vectors, align, translate.

    Args:
        settings: the language pair and the alignment method.
        dataset: with the captions for the vectors and the dictionary.
        cache: folder for word vectors; None is the XDG cache.
    """
    import numpy as np

    from polyglance.alignment import (
        Alignment,
        AlignmentOptions,
        align,
        best_rows,
        evaluate_alignment,
        named_pairs,
        paired_rows,
        split_rows,
    )
    from polyglance.alignment.named import language_pair
    from polyglance.recipes.schema import VectorsEmbedderRecipe
    from polyglance.text.embedders.fixed.build import VectorSource
    from polyglance.text.vectors.word_vectors import WordVectors

    codes = language_pair(settings.pair, f"pair {settings.pair}")
    recipe = VectorsEmbedderRecipe(
        word_dim=settings.dim, trained=settings.trained, centre=settings.centre
    )
    vectors = VectorSource(recipe, TOKENIZER, dataset, cache)
    parts = [vectors.words(code) for code in codes]
    source, target = (WordVectors(part.words, part.matrix) for part in parts)
    both = source, target
    pairs = named_pairs(settings.dictionary, codes[0], codes[1], dataset=dataset, vectors=both)
    train, test = split_rows(paired_rows(pairs, source, target), None, len(source), settings.seed)
    if settings.translations is not None:
        train = best_rows(train, settings.translations)
    if settings.method == "none":
        found = Alignment(np.eye(settings.dim, dtype=np.float32))
    else:
        options = AlignmentOptions(
            method=settings.method, iterations=settings.iterations, spectral=settings.spectral
        )
        found, _ = align(source, target, train, options)
    scores = evaluate_alignment(found, source, target, test)
    values = {
        f"{way}{at} {settings.pair}": 100 * scores[way.lower()].at[k]
        for at, k in (("", 1), ("@10", 10))
        for way in ("NN", "CSLS")
    }
    return Measured(values, {"pairs": len(train), "words": scores["nn"].words})


def reads_lexicon(settings: AlignmentSettings) -> bool:
    return any(name.startswith("lexicon") for name in settings.dictionary.split("+"))


EXPERIMENT = Experiment(
    AlignmentSettings, measures, run, ABOUT, data=True, reads_lexicon=reads_lexicon
)
