"""Rows of made-up images for the stores."""

from datetime import datetime, timedelta

import numpy as np

from polyglance.library.record import Caption, Record, Stamp, make_id

MODEL, DIM = "0123456789abcdef" * 4, 32


def record(number: int, **changes: object) -> Record:
    """An image of which every tenth has a tag and every hundredth another."""
    content = f"{number:032x}"
    tags = [tag for tag, every in (("tenth", 10), ("hundredth", 100)) if number % every == 0]
    fields: dict[str, object] = {
        "id": make_id(content),
        "content": content,
        "path": f"/pictures/{number % 7}/{number:06}.jpg",
        "stamp": Stamp(1000 + number, 10**18 + number, 2**63 + number),
        "width": 100 + number % 50,
        "height": 300,
        "taken": None if number % 3 else datetime(2020, 1, 1) + timedelta(days=number),
        "captions": (Caption("de", "ein Bild"), Caption("", "?")) if number % 5 == 0 else (),
        "tags": tuple(tags),
        "perceptual_hash": 2**64 - 1 - number,
        "latitude": 1.5 if number % 2 else None,
    }
    return Record(**(fields | changes))  # type: ignore[arg-type]


def records(first: int, count: int) -> list[Record]:
    """The images of numbers in a row."""
    return [record(number) for number in range(first, first + count)]


def vectors(first: int, count: int) -> np.ndarray:
    """float32 [count, DIM] around twenty centres, of different lengths; each by its number."""
    centres = np.random.default_rng(0).normal(size=(20, DIM))
    rows = []
    for number in range(first, first + count):
        generator = np.random.default_rng(number)
        row = centres[number % 20] + 0.5 * generator.normal(size=DIM)
        rows.append(row * generator.uniform(0.5, 2))
    return np.array(rows, np.float32)


def unit(given: np.ndarray) -> np.ndarray:
    """Rows at length one, in double precision."""
    exact = given.astype(np.float64)
    return exact / np.linalg.norm(exact, axis=1, keepdims=True)
