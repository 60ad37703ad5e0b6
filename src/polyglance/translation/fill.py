"""Completes a dataset with machine translations, and records their origin."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyglance.core.registry import nearest
from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.translation.base import Translator
from polyglance.translation.translate import translate

MACHINE = "machine"
PEOPLE = ("independent", "translation")


@dataclass(frozen=True)
class Filled:
    """The result for one language."""

    language: str
    captions: int
    """Number of new captions."""
    images: int
    """Number of images with new captions."""
    kept: int
    """Number of images that already had captions, which are unchanged."""
    lacking: int
    """Number of captions that could not be translated."""
    source: str = ""
    """The source language."""


def fill_languages(
    dataset: Dataset,
    translator: Translator,
    targets: Sequence[str],
    source: str = "en",
    kinds: Sequence[str] = PEOPLE,
    most: int | None = None,
    beside: bool = False,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> tuple[list[CaptionedImage], list[Filled]]:
    """Add translations of the `source` captions into every target language.

    Images without captions in a language get captions of kind `machine`.

    Args:
        dataset: images with captions.
        translator: to use.
        targets: languages to translate into.
        source: language to translate from.
        kinds: of the captions to translate.
        most: captions to translate per image, the first ones; None for all.
        beside: whether to also add translations to images that have captions, unless these include
            translations from `source`.
        cache: folder for translations; None for the XDG cache.
        show_progress: whether to show a progress bar; None for only on a terminal.
    """
    if source not in dataset.languages:
        hint = nearest(source, dataset.languages)
        raise PolyglanceError(f"{dataset.label}: no captions in language '{source}'{hint}")
    entries, results = list(dataset.images), []
    for target in dict.fromkeys(targets):
        if target == source:
            raise PolyglanceError(f"'{source}' cannot be translated to itself; remove it")
        rows = [row for row, entry in enumerate(entries) if not _has(entry, target, source, beside)]
        texts = {row: _texts(entries[row], source, kinds)[:most] for row in rows}
        flat = list(dict.fromkeys(text for own in texts.values() for text in own))
        new = translate(translator, flat, source, target, cache, show_progress)
        translations = {text: own for text, own in zip(flat, new, strict=True) if own is not None}
        origin = {"translator": translator.name, "from": source}
        made = []
        for row, own in texts.items():
            if pairs := [(text, translations[text]) for text in own if text in translations]:
                entries[row] = _with(entries[row], target, pairs, origin)
                made.append(len(pairs))
        lacking = sum(map(len, texts.values())) - sum(made)
        kept = len(entries) - len(rows)
        results.append(Filled(target, sum(made), len(made), kept, lacking, source))
    return entries, results


def _has(entry: CaptionedImage, language: str, source: str, beside: bool) -> bool:
    """Whether an image has captions; with `beside`, whether it has translations from `source`."""
    found = entry.captions.get(language, {})
    if not beside:
        return any(found.values())
    origins = entry.origins.get(language, {}).get(MACHINE, [])
    if found.get(MACHINE) and not origins:
        return True  # of unknown origin, perhaps from `source`
    return any(origin.get("from") == source for origin in origins)


def _texts(entry: CaptionedImage, language: str, kinds: Sequence[str]) -> list[str]:
    """Distinct captions of the kinds, in order."""
    found = entry.captions.get(language, {})
    return list(dict.fromkeys(text for kind in kinds for text in found.get(kind, ())))


def _with(
    entry: CaptionedImage, language: str, pairs: Sequence[tuple[str, str]], origin: dict[str, str]
) -> CaptionedImage:
    """Add the translations of (source, translation) pairs, with their origins."""
    before, known = entry.captions.get(language, {}), entry.origins.get(language, {})
    texts = {**before, MACHINE: [*before.get(MACHINE, []), *(new for _, new in pairs)]}
    made = [{**origin, "of": old} for old, _ in pairs]
    known = {**known, MACHINE: [*known.get(MACHINE, []), *made]}
    captions, origins = {**entry.captions, language: texts}, {**entry.origins, language: known}
    return replace(entry, captions=captions, origins=origins)
