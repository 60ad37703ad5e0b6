"""Translates many texts, without duplicates, using the cache."""

from collections.abc import Sequence
from pathlib import Path

from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.translation.base import Translator
from polyglance.translation.store import TranslationStore


def translate(
    translator: Translator,
    texts: Sequence[str],
    source: str,
    target: str,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> list[str | None]:
    """A translation of every text, or None if there is none.

    Args:
        translator: to use.
        texts: in the source language.
        source: language of the texts.
        target: language of the translations.
        cache: folder of cached translations, written after every batch, so that a killed run can
            be continued; None for the XDG cache.
        show_progress: whether to show a progress bar; None for only on a terminal.
    """
    if source == target:
        return list(texts)
    if not translator.keeps:
        return _checked(translator, list(texts), source, target)
    store, identity = TranslationStore(cache), translator.identity
    distinct = list(dict.fromkeys(texts))
    found = store.get(identity, source, target, distinct)
    # Sorted by length, to reduce padding.
    missing = sorted((text for text in distinct if text not in found), key=len)
    with Bar(f"translating {source} → {target}", len(missing), "texts", show_progress) as bar:
        for start in range(0, len(missing), translator.batch):
            part = missing[start : start + translator.batch]
            new = dict(zip(part, _checked(translator, part, source, target), strict=True))
            store.put(identity, source, target, new)
            found |= new
            bar.advance(len(part))
    return [found[text] for text in texts]


def _checked(
    translator: Translator, texts: list[str], source: str, target: str
) -> list[str | None]:
    """The translations, with None for empty ones."""
    found = translator.translate(texts, source, target)
    if len(found) != len(texts):
        raise PolyglanceError(
            f"{translator.name}: returned {len(found)} translations for {len(texts)} texts"
        )
    return [text.strip() or None if text else None for text in found]
