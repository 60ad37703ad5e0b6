"""From captions as they are stored to words, as a recipe says."""

from collections.abc import Sequence

from polyglance.progress import track
from polyglance.recipes.schema import TextRecipe
from polyglance.text.tokenizers.base import SHOW_PROGRESS_FROM, tokenize_many
from polyglance.text.tokenizers.romanise import romanise

Languages = Sequence[str] | str | None


def read_words(
    recipe: TextRecipe,
    texts: Sequence[str],
    languages: Languages = None,
    show_progress: bool | None = None,
) -> tuple[Sequence[str], list[list[str]]]:
    """The texts, romanised where the recipe asks for it, and the words of each."""
    if recipe.romanise:
        texts = _romanised(texts, languages, show_progress)
    return texts, tokenize_many(texts, languages, recipe.tokenizer, show_progress)


def _romanised(
    texts: Sequence[str], languages: Languages, show_progress: bool | None
) -> Sequence[str]:
    codes = [languages] * len(texts) if isinstance(languages, str | None) else languages
    show = len(texts) >= SHOW_PROGRESS_FROM if show_progress is None else show_progress
    pairs = track(zip(texts, codes, strict=True), "romanising", len(texts), "captions", show)
    return [romanise(text, code) for text, code in pairs]
