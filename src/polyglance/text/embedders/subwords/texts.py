"""Texts whose pieces a reduced vocabulary keeps."""

from collections.abc import Iterator
from pathlib import Path

from polyglance.data.dataset import check_captions
from polyglance.recipes.schema import ClassesHead, Recipe, SubwordsEmbedderRecipe
from polyglance.storage.files import read_jsonl, read_lines
from polyglance.text.concepts import read_concepts
from polyglance.text.embedders.base import TrainingTexts
from polyglance.text.lexicon import lemma_words


def training_texts(recipe: Recipe, texts: TrainingTexts) -> Iterator[str]:
    """All texts of a training: captions, names of concepts, and the files of `piece_texts`."""
    yield from texts.captions.texts
    if recipe.naming is not None and isinstance(recipe.image.head, ClassesHead):
        path = Path(recipe.naming.concepts).expanduser()
        for concept in read_concepts(path, recipe.image.head.classes):
            for names in concept.names.values():
                yield from names
    assert isinstance(recipe.text.embedder, SubwordsEmbedderRecipe)
    for name in recipe.text.embedder.piece_texts:
        yield from piece_texts(Path(name).expanduser(), recipe.data.train_split)


def piece_texts(path: Path, split: str | None = None) -> Iterator[str]:
    """The texts of a file: captions of `.jsonl`, lemmas of `.tsv`, otherwise lines.

    Args:
        path: the file, optionally gzipped.
        split: read only captions of this split, if lines have one; None for all.
    """
    kind = Path(path.name.removesuffix(".gz")).suffix
    if kind == ".jsonl":
        for line, value in read_jsonl(path):
            entry = value if isinstance(value, dict) else {}
            captions = entry.get("captions")
            if split is not None and entry.get("split", split) != split:
                continue
            for kinds in check_captions(captions, f"{path}, line {line}").values():
                for found in kinds.values():
                    yield from found
        return
    for _, line_text in read_lines(path):
        if kind == ".tsv":
            yield from lemma_words(line_text.rpartition("\t")[2])
        elif line_text.strip():
            yield line_text
