"""Search for texts by images: every caption is compared with every image."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.core.languages import known_language
from polyglance.data.dataset import Dataset
from polyglance.data.images.read import list_images
from polyglance.data.load import source_path
from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.gallery.candidates import DIGITS
from polyglance.gallery.captions.hit import CaptionHit, ImageResult
from polyglance.gallery.captions.list import CaptionList, open_captions
from polyglance.gallery.captions.results import CaptionResults
from polyglance.gallery.exact import best_first, load_model
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.open import gallery_of_dataset, gallery_of_files
from polyglance.numerics.devices import CPU, Device

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel


def search_captions(
    model: "Model | ExportedModel | str | Path | None",
    images: str | Path | Sequence[str | Path],
    captions: CaptionList | str | Path,
    *,
    top: int = 5,
    language: str | None = None,
    split: str | None = None,
    cache: Path | None = None,
    show_progress: bool | None = None,
    device: Device = CPU,
) -> CaptionResults:
    """Rank captions for images.

    `search_captions("runs/nce", "dog.jpg", "captions.txt")[0].hits[0].text`. The results' `notes`
    are also raised as `PolyglanceWarning`.

    Args:
        model: a model, its folder (a run or an exported model), or None for the included one.
        images: an image file, a folder, or several of both; also names of images in the dataset
            passed as `captions`.
        captions: a text file, a table or a dataset, as for `open_captions`; or its result.
        top: captions per image, best first; ties are in the order of the source.
        language: of a text file's captions; from other sources, only captions in it are used.
        split: of a dataset; only its captions are used.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows progress in a terminal only.
        device: for a model passed as a folder: auto, cpu, cuda, cuda:N or mps.
    """
    if top < 1:
        raise PolyglanceError(f"top={top}: must be at least 1")
    loaded = load_model(model, device)
    if isinstance(captions, CaptionList):
        listed = captions
    else:
        listed = open_captions(captions, language, split, cache)
    readable, notes = _readable(loaded, listed)
    places = [images] if isinstance(images, str | Path) else list(images)
    gallery, order = _open_images(loaded, places, listed.dataset, cache, show_progress)
    for message in [*notes, *(f"{path}: skipped, {why}" for path, why in gallery.unreadable)]:
        warnings.warn(message, PolyglanceWarning, stacklevel=2)
    scores = loaded.similarity(gallery.embeddings[order], _encode(loaded, readable, show_progress))
    results = [
        ImageResult(gallery.paths[row], _hits(readable, gallery.paths[row], values, top))
        for row, values in zip(order, scores, strict=True)
    ]
    return CaptionResults(results, gallery, notes, len(readable), loaded.similarity_name)


def _readable(
    model: "Model | ExportedModel", captions: CaptionList
) -> tuple[CaptionList, list[str]]:
    """The captions that the model can encode, and notes on the others."""
    kept, foreign, unknown = [], 0, 0
    codes = {code: _known(model, code) for code in set(captions.languages)}
    for number, (text, given) in enumerate(zip(captions.texts, captions.languages, strict=True)):
        language = codes[given]
        if given is not None and language is None:
            foreign += 1
            continue
        words, missing = model.embedder.read([text], language)[0]
        if len(missing) < len(words):
            kept.append(number)
        else:
            unknown += 1
    notes = []
    if foreign:
        known = ", ".join(model.languages)
        count = "1 caption" if foreign == 1 else f"{foreign} captions"
        notes.append(f"left out {count} in languages the model does not know ({known})")
    if unknown:
        count = "1 caption" if unknown == 1 else f"{unknown} captions"
        notes.append(f"left out {count} without a word that the model knows")
    if not kept:
        raise PolyglanceError(f"no caption can be read: {'; '.join(notes)}")
    found = CaptionList(
        [captions.texts[i] for i in kept],
        [codes[captions.languages[i]] for i in kept],
        [captions.images[i] for i in kept],
        captions.dataset,
    )
    return found, notes


def _known(model: "Model | ExportedModel", language: str | None) -> str | None:
    """The model's tag for a language; None if it has none."""
    if language is None:
        return None
    try:
        return known_language(language, model.languages, model.embedder.reads_all)
    except PolyglanceError:
        return None


def _encode(model: "Model | ExportedModel", captions: CaptionList, show: bool | None) -> np.ndarray:
    """Embeddings [m, D], language by language."""
    from polyglance.evaluation.encoder import encode_quietly

    found = np.empty((len(captions), model.dim), np.float32)
    codes = np.array([code or "" for code in captions.languages])
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        texts = [captions.texts[row] for row in rows]
        found[rows] = encode_quietly(model, texts, str(code) or None, show)
    return found


def _open_images(
    model: "Model | ExportedModel",
    places: Sequence[str | Path],
    dataset: Dataset | None,
    cache: Path | None,
    show: bool | None,
) -> tuple[Gallery, list[int]]:
    """The images as a gallery, and its rows in the order of the images passed."""
    if not places:
        raise PolyglanceError("pass at least one image to find captions for")
    entries = {} if dataset is None else {entry.image: entry for entry in dataset.images}
    named = [entries[str(place)] for place in places if str(place) in entries]
    if dataset is not None and len(named) == len(places):
        part = replace(dataset, images=named)
        gallery = gallery_of_dataset(model, part, cache, show)
        wanted = part.paths() if gallery.has_files else [Path(entry.image) for entry in named]
    else:
        wanted = [path for place in places for path in _files(source_path(place))]
        gallery = gallery_of_files(model, wanted, cache, show)
    rows = {path: row for row, path in enumerate(gallery.paths)}
    return gallery, [rows[path] for path in dict.fromkeys(wanted) if path in rows]


def _files(place: Path) -> list[Path]:
    if not place.exists():
        raise PolyglanceError(f"{place}: no such image or folder of images")
    if not place.is_dir():
        return [place]
    found = list_images(place)
    if not found:
        raise PolyglanceError(f"{place}: there are no images in this folder")
    return found


def _hits(captions: CaptionList, image: Path, values: np.ndarray, top: int) -> list[CaptionHit]:
    own = image.absolute()
    judged = any(own in owners for owners in captions.images)
    return [
        CaptionHit(
            captions.texts[i],
            captions.languages[i],
            round(float(values[i]), DIGITS),
            rank,
            own in captions.images[i] if judged else None,
        )
        for rank, i in enumerate(best_first(values, top), 1)
    ]
