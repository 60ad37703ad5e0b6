"""How often the name of a thing finds its picture among the first ten."""

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
from polyglance.numerics.sets import Embeddings

if TYPE_CHECKING:
    from polyglance.evaluation.reports.tables import Rows

FIRST = 10
MEAN, ENGLISH = "mean", "en"


@dataclass(frozen=True)
class NamesFound:
    """Names of a language, and the percentage whose picture is among the first ten."""

    found: float
    names: int


@dataclass(frozen=True)
class NamesReport:
    """Name → picture by language; `pictures` is how many each set has to look through."""

    model: str
    data: str
    split: str
    pictures: dict[str, int]
    languages: dict[str, NamesFound]

    @property
    def mean(self) -> float:
        """Over languages, each counting alike."""
        return float(np.mean([own.found for own in self.languages.values()]))

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**asdict(self), MEAN: self.mean}

    def table(self) -> "Rows":
        """For the terminal and in Markdown: English first, the mean last."""
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
            [f"among {sizes} pictures of all splits"],
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
    """Look for the pictures of a split by their names, among those of all splits.

    A folder below images/ is a set of pictures of its own, such as Noto's emoji: names look through
    one set at a time. A picture with the same name in that language is right as well.

    Args:
        model: encodes both.
        dataset: such as `polyglance data emoji` writes.
        split: whose names are asked.
        languages: of the names; None is all.
        name: what the report calls the model.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows progress on a terminal only.
    """
    asked = dataset.split(split)
    codes = list(languages or asked.languages)
    asked.captions(codes)  # a language that is not there is named
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
    """Names that images of a split have → the numbers of all images that have them."""
    found: dict[str, list[int]] = {}
    asked: dict[str, None] = {}
    for number, entry in enumerate(dataset.images):
        for text in (text for texts in entry.captions.get(language, {}).values() for text in texts):
            found.setdefault(text, []).append(number)
            if entry.split == split:
                asked[text] = None
    return {text: np.array(found[text]) for text in asked}


def _ranks(scores: np.ndarray, gallery: np.ndarray, right: Sequence[np.ndarray]) -> Iterator[int]:
    """The rank, from 0, of the best right picture for every name that has one in the gallery.

    Args:
        scores: [n, m], of pictures and names.
        gallery: [n], numbers of the pictures.
        right: for each name the numbers of its pictures.
    """
    for column, own in zip(scores.T, right, strict=True):
        places = np.flatnonzero(np.isin(gallery, own))
        if len(places):
            best = places[np.argmax(column[places])]
            before = np.count_nonzero(column[:best] == column[best])
            yield int(np.count_nonzero(column > column[best]) + before)
