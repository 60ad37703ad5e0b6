"""Renders the world into a native dataset folder, and loads it from the cache."""

from dataclasses import replace
from pathlib import Path
from random import Random

from polyglance.core.progress import Bar
from polyglance.core.registry import nearest
from polyglance.data.dataset import (
    GENERATED,
    CaptionedImage,
    Captions,
    Dataset,
    load_folder,
    save_folder,
)
from polyglance.data.generated.languages import LANGUAGES, realise
from polyglance.data.generated.messages import free_message, whole_message
from polyglance.data.generated.scenes import make_scene, split_of
from polyglance.data.generated.world import Scene
from polyglance.errors import PolyglanceError
from polyglance.storage.files import cache_dir, write_json
from polyglance.storage.staging import staged

VERSION = 2
"""Part of the cache folder's name; increase it whenever a caption or pixel changes."""

DEFAULTS = {"photos": 1000, "seed": 0}


def write_generated(folder: Path, images: int, seed: int) -> None:
    """Write a world as a dataset folder, atomically.

    Args:
        folder: absent or empty.
        images: their number; a smaller world is the beginning of a larger one.
        seed: of the world.
    """
    if images < 1:
        raise PolyglanceError(f"cannot generate {images} images; the minimum is 1")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PolyglanceError(f"{folder}: exists and is not empty; choose another folder")
    with staged(folder, replace=False) as part:  # another process may have written the same
        _write(part, images, seed)
    if not (folder / "captions.jsonl.gz").is_file():
        raise PolyglanceError(f"{folder}: the folder is in use; empty it")


def load_generated(source: str, cache: Path | None = None) -> Dataset:
    """The world named `generated` or `generated:photos=500,seed=3`.

    Rendered on first use into the folder `cache`, by default the XDG cache.
    """
    options = parse_source(source)
    images, seed = options["photos"], options["seed"]
    folder = cache_dir(cache) / "generated" / f"v{VERSION}-{images}-{seed}"
    if not (folder / "captions.jsonl.gz").is_file():
        try:
            write_generated(folder, images, seed)
        except PolyglanceError:
            if not (folder / "captions.jsonl.gz").is_file():
                raise
    return replace(load_folder(folder), name=source)


def parse_source(source: str) -> dict[str, int]:
    """The options of a source string.

    >>> parse_source("generated:seed=3")
    {'photos': 1000, 'seed': 3}
    """
    options = dict(DEFAULTS)
    _, _, text = source.partition(":")
    for part in filter(None, text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in DEFAULTS:
            hint = nearest(name, list(DEFAULTS))
            raise PolyglanceError(f"'{source}': unknown option '{name}'{hint}")
        if not (value.isascii() and value.isdigit()):
            raise PolyglanceError(
                f"'{source}': {name} must be a whole number, for example {name}={DEFAULTS[name]}"
            )
        options[name] = int(value)
    return options


def _write(folder: Path, images: int, seed: int) -> None:
    from polyglance.data.generated.drawing import render

    (folder / "images").mkdir()
    rows = []
    with Bar("rendering", images, "images") as bar:
        for index in range(images):
            scene, name = make_scene(seed, index), f"{index:06d}.jpg"
            image = render(scene, Random(f"{seed}/picture/{index}"))
            image.save(folder / "images" / name, quality=90)
            rows.append(CaptionedImage(name, split_of(index), caption(scene, seed, index)))
            bar.advance()
    save_folder(folder, rows)
    write_json(folder / GENERATED, {"version": VERSION, "photos": images, "seed": seed})


def caption(scene: Scene, seed: int, index: int, per_language: int = 2) -> Captions:
    """One `translation` and some `independent` captions in every language.

    The translations express the same message. The messages of independent captions are sampled
    separately, so they are not parallel across languages.

    Args:
        scene: to describe.
        seed: of the world.
        index: of the scene.
        per_language: independent captions per language.
    """
    whole = whole_message(scene)
    captions: Captions = {}
    for code in LANGUAGES:
        free = [
            realise(free_message(scene, Random(f"{seed}/caption/{index}/{code}/{number}")), code)
            for number in range(per_language)
        ]
        captions[code] = {"independent": free, "translation": [realise(whole, code)]}
    return captions
