"""Model folders from an attacker, or from a bad disk."""

import json
import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders.fixed.build import LanguageWords
from polyglance.text.embedders.fixed.embedder import VectorsEmbedder
from polyglance.text.vectors.fasttext import SubwordVectors
from tests.alignment.planted import write_bin
from tests.conftest import TOY
from tests.hostile.cases import Case, damaged, seeds
from tests.models.small import table_model

CONFIG, WORDS, WEIGHTS = "model.json", "vocabulary.json", "model.safetensors"
HUGE = 10**9


def write_model(folder: Path) -> Path:
    """A good model of a word table."""
    model = table_model(load_recipe("vsepp", parse_overrides(TOY)), ["dog", "cat"])
    model.save(folder)
    return folder


def write_vectors_model(folder: Path, elsewhere: Path) -> Path:
    """A good model of fixed vectors, with the n-grams of a .bin in the folder `elsewhere`."""
    changes = ["text.embedder.word_dim=3", "text.encoder.hidden=8", "joint.dim=8"]
    recipe = load_recipe("translator", parse_overrides([*changes, "image.feature=imported/toy"]))
    elsewhere.mkdir(parents=True, exist_ok=True)
    matrix = np.random.default_rng(0).normal(size=(2 + 50, 3)).astype(np.float32)
    path = write_bin(elsewhere / "en.bin", [b"dog", b"cat"], matrix, 50, 2, 3)
    opened = SubwordVectors.open(path)
    words = LanguageWords(["dog", "cat"], matrix[:2], None, opened, str(path))
    Model(recipe, VectorsEmbedder(recipe, {"en": words}), 4, ["en"]).save(folder)
    return folder


def change(path: Path, where: str, value: Any) -> None:
    """Set a dotted field of a JSON file."""
    whole = json.loads(path.read_text())
    *parents, last = where.split(".")
    part = whole
    for name in parents:
        part = part[name]
    part[last] = value
    path.write_text(json.dumps(whole))


def _changed(folder: Path, file: str, where: str, value: Any) -> Path:
    write_model(folder)
    change(folder / file, where, value)
    return folder


def _written(folder: Path, file: str, data: bytes) -> Path:
    write_model(folder)
    (folder / file).write_bytes(data)
    return folder


def _linked(folder: Path, file: str) -> Path:
    """A file of the model is a link to one outside, which is exactly what was there."""
    write_model(folder)
    outside = folder.parent / f"{folder.name}-outside"
    outside.mkdir()
    (folder / file).rename(outside / file)
    (folder / file).symlink_to(outside / file)
    return folder


def _replaced(folder: Path, file: str, make: Callable[[Path], object]) -> Path:
    write_model(folder)
    (folder / file).unlink()
    make(folder / file)
    return folder


def _header(value: Any, data: bytes = b"") -> bytes:
    head = json.dumps(value).encode()
    return struct.pack("<Q", len(head)) + head + data


CHANGES: list[tuple[str, Any]] = [
    ("feature_dim", HUGE),
    ("feature_dim", 10**30),
    ("feature_dim", -1),
    ("feature_dim", 16.5),
    ("feature_dim", "16"),
    ("feature_dim", True),
    ("feature_dim", None),
    ("languages", "en"),
    ("languages", {"en": 1}),
    ("languages", [1]),
    ("format", 2),
    ("recipe", None),
    ("recipe", []),
    ("recipe.joint.dim", HUGE),
    ("recipe.joint.dim", 10**30),
    ("recipe.joint.dim", 0),
    ("recipe.text.encoder.hidden", HUGE),
    ("recipe.text.embedder.word_dim", HUGE),
    ("recipe.text.embedder.kind", "../table"),
    ("recipe.text.embedder.kind", ["table"]),
    ("recipe.text.encoder.kind", "transformer"),
    ("recipe.image.feature", "transformers:/etc/global"),
    ("recipe.image.feature", "torchvision:resnet50@/etc/passwd/global"),
    ("recipe.image.feature", "timm:hf-hub:someone/else/global"),
    ("recipe.image.feature", "timm:resnet50/global"),
    ("recipe.image.feature", 7),
    ("recipe.unknown", "\x1b]0;title\x07"),
]
"""Fields of model.json, and values that must be refused."""


def _certain() -> Iterator[Case]:
    for where, value in CHANGES:
        name = f"{CONFIG} {where}={str(value)[:40]}"
        yield Case(name, partial(_changed, file=CONFIG, where=where, value=value))
    for file in (CONFIG, WORDS):
        for text in (b"", b"{", b"null", b"[" * 100_000, b'"\\ud800"', b"\xff\xfe", b"1e999"):
            yield Case(f"{file} {text[:10]!r}", partial(_written, file=file, data=text))
    for file in (CONFIG, WORDS, WEIGHTS):
        yield Case(f"{file} a link outside", partial(_linked, file=file))
        yield Case(f"{file} a folder", partial(_replaced, file=file, make=Path.mkdir))
        yield Case(f"{file} a pipe", partial(_replaced, file=file, make=os.mkfifo))
        yield Case(f"{file} missing", partial(_replaced, file=file, make=str))
    tensor = {"dtype": "F32", "shape": [HUGE, HUGE], "data_offsets": [0, 4]}
    for name, data in {
        "empty": b"",
        "of a header without end": struct.pack("<Q", 2**63),
        "of no tensor": _header({}),
        "of a tensor larger than the file": _header({"image.mean": tensor}, b"0000"),
        "of tensors that overlap": _header(
            {n: {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]} for n in "ab"}, b"0000"
        ),
        "a pickle": b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR.",
    }.items():
        yield Case(f"{WEIGHTS} {name}", partial(_written, file=WEIGHTS, data=data))


def _random(folder: Path, generator: np.random.Generator) -> Path:
    write_model(folder)
    file = folder / str(generator.choice([CONFIG, WORDS, WEIGHTS]))
    file.write_bytes(damaged(file.read_bytes(), generator))
    return folder


def model_cases(count: int) -> Iterator[Case]:
    """The certain cases, and `count` of random damage."""
    yield from _certain()
    for number, generator in enumerate(seeds(count)):
        yield Case(f"damage {number}", partial(_random, generator=generator), None)
