"""A dataset filled to more languages: machines' captions beside people's, their origin kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.registry import nearest
from polyglance.translation.base import Translator
from polyglance.translation.translate import translate

MACHINE = "machine"
PEOPLE = ("independent", "translation")


@dataclass(frozen=True)
class Filled:
    """What became of one language."""

    language: str
    captions: int
    """Captions made."""
    photos: int
    """Photographs that got them."""
    kept: int
    """Photographs that had captions, which stay as they are."""
    lacking: int
    """Captions of which the translator has no translation."""


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
    """The photographs, with translations of their `source` captions into every target.

    Only photographs without any caption in a language get some, of kind `machine`; with
    `beside`, those with people's captions only, too, which stay. `kinds` are the captions
    translated, `most` how many of a photograph, its first.
    """
    if source not in dataset.languages:
        hint = nearest(source, dataset.languages)
        raise PolyglanceError(f"{dataset.label}: no captions in language '{source}'{hint}")
    photos, results = list(dataset.images), []
    for target in dict.fromkeys(targets):
        if target == source:
            raise PolyglanceError(f"'{source}' cannot be translated to itself; leave it out")
        rows = [row for row, photo in enumerate(photos) if not _has(photo, target, beside)]
        texts = {row: _texts(photos[row], source, kinds)[:most] for row in rows}
        flat = list(dict.fromkeys(text for own in texts.values() for text in own))
        new = translate(translator, flat, source, target, cache, show_progress)
        translations = {text: own for text, own in zip(flat, new, strict=True) if own is not None}
        origin = {"translator": translator.name, "from": source}
        made = []
        for row, own in texts.items():
            if pairs := [(text, translations[text]) for text in own if text in translations]:
                photos[row] = _with(photos[row], target, pairs, origin)
                made.append(len(pairs))
        lacking = sum(map(len, texts.values())) - sum(made)
        results.append(Filled(target, sum(made), len(made), len(photos) - len(rows), lacking))
    return photos, results


def _has(photo: CaptionedImage, language: str, beside: bool) -> bool:
    found = photo.captions.get(language, {})
    return any(texts for kind, texts in found.items() if not (beside and kind in PEOPLE))


def _texts(photo: CaptionedImage, language: str, kinds: Sequence[str]) -> list[str]:
    """Distinct captions of the kinds, in their order."""
    found = photo.captions.get(language, {})
    return list(dict.fromkeys(text for kind in kinds for text in found.get(kind, ())))


def _with(
    photo: CaptionedImage, language: str, pairs: Sequence[tuple[str, str]], origin: dict[str, str]
) -> CaptionedImage:
    """The photograph with (source, translation) pairs as captions, and where they come from."""
    texts = {**photo.captions.get(language, {}), MACHINE: [new for _, new in pairs]}
    told = {**photo.origins.get(language, {}), MACHINE: [{**origin, "of": old} for old, _ in pairs]}
    captions, origins = {**photo.captions, language: texts}, {**photo.origins, language: told}
    return replace(photo, captions=captions, origins=origins)
