"""Evaluation of image search by the names of objects."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.encoder import (
    Encoder,
    as_embeddings,
    encode_quietly,
    finite,
    similarity_of,
)
from polyglance.evaluation.ranking.ranks import best_rank
from polyglance.numerics.sets import Embeddings

if TYPE_CHECKING:
    from polyglance.evaluation.reports.tables import Rows

FIRST = 10
MEAN, ENGLISH = "mean", "en"


@dataclass(frozen=True)
class NamesFound:
    """Number of names of a language, and the percentage whose image is among the first ten."""

    found: float
    names: int


@dataclass(frozen=True)
class NamesReport:
    """Results by language; `pictures` is the number of images in each gallery."""

    model: str
    data: str
    split: str
    pictures: dict[str, int]
    languages: dict[str, NamesFound]

    @property
    def mean(self) -> float:
        """Mean over languages."""
        return float(np.mean([own.found for own in self.languages.values()]))

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**asdict(self), MEAN: self.mean}

    def table(self) -> "Rows":
        """The table for the terminal and Markdown: English first, the mean last."""
        from polyglance.evaluation.reports.tables import Rows

        codes = sorted(self.languages, key=lambda code: (code != ENGLISH, code))
        rows = [
            [code, str(self.languages[code].names), f"{self.languages[code].found:.1f}"]
            for code in codes
        ]
        total = sum(own.names for own in self.languages.values())
        rows.append([f"{MEAN} of {len(codes)}", str(total), f"{self.mean:.1f}"])
        sizes = ", ".join(f"{count} {name}".strip() for name, count in self.pictures.items())
        return Rows(
            f"{self.model}: names of {self.data}, {self.split}",
            ["", "names", f"first {FIRST} %"],
            rows,
            [f"among {sizes} images of all splits"],
            frozenset({len(codes)}),
        )


def evaluate_names(
    model: Encoder,
    dataset: Dataset,
    split: str = "val",
    *,
    languages: Sequence[str] | None = None,
    name: str = "model",
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> NamesReport:
    """Search the images of all splits by the names of those in one split.

    Each subfolder of images/, such as Noto's emoji, is a separate gallery. Any image with the same
    name in that language counts as correct.

    Args:
        model: the encoder.
        dataset: such as one written by `polyglance data emoji`.
        split: whose names are used.
        languages: of the names; None for all.
        name: of the model in the report.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows progress on a terminal only.
    """
    part = dataset.split(split)
    codes = list(languages or part.languages)
    part.captions(codes)  # raises an error for an unknown language
    images = as_embeddings(model.encode_dataset(dataset, cache=cache, show_progress=show_progress))
    readable = finite(images)
    _, prepare, score = similarity_of(model)

    def compare(some: Embeddings, texts: Embeddings) -> np.ndarray:
        return np.asarray(score(prepare(some), prepare(as_embeddings(texts))))

    sets: dict[str, list[int]] = {}
    for number, entry in enumerate(dataset.images):
        if readable[number]:
            sets.setdefault(str(Path(entry.image).parent).strip("."), []).append(number)
    if not sets:
        raise PolyglanceError(f"{dataset.label}: none of its images can be read")
    galleries = {key: np.array(own) for key, own in sets.items()}
    known = getattr(model, "languages", codes)
    found: dict[str, NamesFound] = {}
    for code in codes:
        right = _owners(dataset, code, split)
        texts = encode_quietly(model, list(right), code if code in known else None)
        ranks = [
            rank
            for gallery in galleries.values()
            for rank in _ranks(compare(images[gallery], texts), gallery, list(right.values()))
        ]
        if ranks:
            hits = 100 * float(np.mean(np.array(ranks) < FIRST))
            found[code] = NamesFound(hits, len(ranks))
    if not found:
        raise PolyglanceError(f"{dataset.label}: split '{split}' has no names of readable images")
    sizes = {key: len(own) for key, own in galleries.items()}
    return NamesReport(name, dataset.name, split, sizes, found)


def _owners(dataset: Dataset, language: str, split: str) -> dict[str, np.ndarray]:
    """Names of images of a split → indices of all images with that name."""
    found: dict[str, list[int]] = {}
    names: dict[str, None] = {}
    for number, entry in enumerate(dataset.images):
        for text in (text for texts in entry.captions.get(language, {}).values() for text in texts):
            found.setdefault(text, []).append(number)
            if entry.split == split:
                names[text] = None
    return {text: np.array(found[text]) for text in names}


def _ranks(scores: np.ndarray, gallery: np.ndarray, right: Sequence[np.ndarray]) -> Iterator[int]:
    """Yield the rank, from 0, of the best correct image for every name that has one in the gallery.

    Args:
        scores: [n, m], of images and names.
        gallery: [n], indices of the images.
        right: indices of the images of each name.
    """
    for column, own in zip(scores.T, right, strict=True):
        places = np.flatnonzero(np.isin(gallery, own))
        if len(places):
            yield best_rank(column, places)
