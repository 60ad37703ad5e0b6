"""Feature arrays of Multi30K, written by its repository's scripts and read by Kádár et al.'s code.

`train-resnet50-avgpool.npy` has a row for every line of the split's image list.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from polyglance.data.convert.common import CONVERTERS, Conversion, ImportedFeatures, image_list
from polyglance.data.convert.multi30k import split_list
from polyglance.data.convert.precomp import open_array, vectors_of
from polyglance.errors import PolyglanceError

ALIASES = {"test": "test_2016_flickr", "test_2016": "test_2016_flickr"}
"""Aliases of the test split's list."""
ARRAY = re.compile(r"(?P<split>[a-z]+(?:_\d{4})?(?:_[a-z]+)?)(?:-(?P<network>[\w.-]+))?\.npy")


@CONVERTERS.register("multi30k-features")
def convert_multi30k_features(
    source: Path,
    images: Path | None = None,
    *,
    splits: str = "",
    network: str = "",
    name: str = "",
) -> Conversion:
    """Arrays such as train-resnet50-avgpool.npy, one row per image, into an existing dataset.

    Args:
        source: the folder of train, val and test_2016_flickr (or test) .npy.
        images: ignored.
        splits: checkout of multi30k/dataset, or a folder of its image lists (train.txt, …); by
            default the source.
        network: such as resnet50-avgpool, if there are several.
        name: of the imported features; by default the network.
    """
    arrays, network = _arrays(source, network)
    parts, dims = [], {}
    for split, path in arrays.items():
        rows = _open(path)
        file, names = _names(Path(splits) if splits else source, split, path)
        if len(names) != len(rows):
            raise PolyglanceError(
                f"{path}: has {len(rows)} rows, but {file} has {len(names)} images; "
                "rows and lines must correspond"
            )
        parts.append((names, path))
        dims[path.name] = rows.shape[1]
    if len(set(dims.values())) > 1:
        described = ", ".join(f"{file} {dim}" for file, dim in dims.items())
        raise PolyglanceError(f"{source}: the arrays differ in dimension: {described}")

    def items() -> Iterator[tuple[str, np.ndarray]]:
        for names, path in parts:
            yield from vectors_of(names, path)

    total = sum(len(names) for names, _ in parts)
    dim, called = next(iter(dims.values())), name or network or "multi30k"
    return Conversion(features=[ImportedFeatures(called, dim, "global", total, items)])


def _arrays(source: Path, wanted: str) -> tuple[dict[str, Path], str]:
    """Split → array of the wanted network, or of the only one, and its name."""
    by_network: dict[str, dict[str, Path]] = {}
    for path in sorted(source.glob("*.npy")) if source.is_dir() else ():
        if match := ARRAY.fullmatch(path.name):
            by_network.setdefault(match["network"] or "", {})[match["split"]] = path
    if not by_network:
        raise PolyglanceError(
            f"{source}: not a folder of arrays such as train-resnet50-avgpool.npy or train.npy"
        )
    if not wanted and len(by_network) > 1:
        known = ", ".join(network or "(none)" for network in by_network)
        raise PolyglanceError(
            f"{source}: arrays of several networks; choose one with -o network= ({known})"
        )
    chosen = wanted or next(iter(by_network))
    if chosen not in by_network:
        known = ", ".join(by_network)
        raise PolyglanceError(f"{source}: no arrays of network '{chosen}', only of {known}")
    return by_network[chosen], chosen


def _names(lists: Path, split: str, path: Path) -> tuple[Path, list[str]]:
    """The file of a split's image list, and its names."""
    wanted = ALIASES.get(split, split)
    root = lists / "data" if (lists / "data").is_dir() else lists
    beside = [lists / f"{split}.txt", lists / f"{wanted}.txt", lists / f"{split}_images.txt"]
    for file in (*beside, split_list(root, wanted)):
        if file is not None and file.is_file():
            return file, image_list(file)
    raise PolyglanceError(
        f"{path}: no list of its images, {wanted}.txt, in {lists}; set a checkout of "
        "github.com/multi30k/dataset with -o splits=FOLDER"
    )


def _open(path: Path) -> np.ndarray:
    rows = open_array(path)
    if rows.ndim != 2:
        raise PolyglanceError(f"{path}: expected floats of [images, dim], found {rows.shape}")
    return rows
