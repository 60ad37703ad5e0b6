"""Evaluates translators by word overlap with reference translations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers.base import tokenize_many
from polyglance.translation.base import Translator

SPLIT = "val"


@dataclass(frozen=True)
class Overlap:
    """Word overlap with references, in percent; `precision` is BLEU-1 without brevity penalty."""

    texts: int
    precision: float
    recall: float


def word_overlap(found: Sequence[list[str]], references: Sequence[list[str]]) -> Overlap:
    """Overlap of texts with their references, counting each word as often as both have it.

    >>> word_overlap([["dog", "dog", "runs"]], [["a", "dog", "runs", "fast"]])
    Overlap(texts=1, precision=66.66666666666667, recall=50.0)
    """
    pairs = zip(found, references, strict=True)
    common = sum(sum((Counter(one) & Counter(other)).values()) for one, other in pairs)
    sizes = [max(1, sum(map(len, side))) for side in (found, references)]
    return Overlap(len(found), 100 * common / sizes[0], 100 * common / sizes[1])


def evaluate_translator(
    translator: Translator, dataset: Dataset, source: str, target: str
) -> Overlap:
    """Translate the captions of kind `translation` of val, and compare with the target's.

    If the target language has none, machine translations are the reference.

    Args:
        translator: to evaluate.
        dataset: with captions in both languages.
        source: language to translate from.
        target: language to translate into.
    """
    rows = []
    for entry in dataset.split(SPLIT).images:
        own, others = entry.captions.get(source, {}), entry.captions.get(target, {})
        reference = others.get("translation") or others.get("machine")
        if own.get("translation") and reference:
            rows.append((own["translation"][0], reference[0]))
    if not rows:
        raise PolyglanceError(
            f"{dataset.label}: split '{SPLIT}' has no translations from '{source}' to '{target}'"
        )
    texts = translator.translate([text for text, _ in rows], source, target)
    references = tokenize_many([reference for _, reference in rows], target)
    return word_overlap(tokenize_many([text or "" for text in texts], target), references)
