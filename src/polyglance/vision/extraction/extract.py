"""Extraction: features of images, computed by a backbone into stores; resumable at any point."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from polyglance.core.progress import Bar
from polyglance.core.registry import nearest
from polyglance.data.dataset import Dataset
from polyglance.data.images.read import content_key, reading
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.numerics.devices import AUTO, CPU, Device, choose_device
from polyglance.storage.files import cache_dir
from polyglance.vision.extraction.features import Features, parse_feature, pool_grid
from polyglance.vision.extraction.image_files import ahead, workers
from polyglance.vision.extraction.store import LARGEST, META, FeatureStore, Form
from polyglance.vision.extraction.ten_crop import FORM as TEN_CROPS
from polyglance.vision.extraction.ten_crop import open_ten_crops
from polyglance.vision.networks.backbones import (
    DEFAULT,
    FAMILIES,
    Backbone,
    BackboneOutput,
    backbones,
)
from polyglance.vision.networks.preprocess import Preprocessing

PIPELINE = 1
"""Increased whenever decoding or preprocessing changes, so that old features are not used."""

Stores = dict[str, FeatureStore]
"""form ("global", "grid", "gridN") → store"""


def extract(
    paths: Sequence[Path],
    feature: str = f"{DEFAULT}/global",
    cache: Path | None = None,
    batch_size: int = 8,
    show_progress: bool | None = None,
    skip_unreadable: bool = True,
    device: Device = CPU,
) -> Features:
    """Features of images, computed if the cache lacks them.

    Args:
        paths: the n image files.
        feature: EXTRACTOR/FORM.
        cache: folder of the feature stores; the XDG cache by default.
        batch_size: images per forward pass.
        show_progress: None shows a progress bar in a terminal.
        skip_unreadable: list unreadable images in `Features.problems`; otherwise the first one
            raises an error.
        device: auto, cpu, cuda, cuda:N or mps.
    """
    rest = batch_size, show_progress, skip_unreadable, device
    return extract_many(paths, [feature], cache, *rest)[0]


def extract_many(
    paths: Sequence[Path],
    features: Sequence[str],
    cache: Path | None = None,
    batch_size: int = 8,
    show_progress: bool | None = None,
    skip_unreadable: bool = True,
    device: Device = CPU,
) -> list[Features]:
    """Several features of the same images, with one pass per extractor.

    Args:
        paths: the n image files.
        features: the features, each EXTRACTOR/FORM.
        cache: this and the following as in `extract`.
        batch_size: images per forward pass.
        show_progress: None shows a progress bar in a terminal.
        skip_unreadable: list unreadable images; otherwise the first one raises an error.
        device: to compute on.
    """
    if batch_size < 1:
        raise PolyglanceError(f"batch size {batch_size}: must be at least 1")
    folder = cache_dir(cache)
    passes = _passes(features, folder, device)
    keys, problems = _content_keys(paths, show_progress)
    if problems and not skip_unreadable:
        raise ImageProblem(*next(iter(problems.items())))
    found: dict[str, Features] = {}
    for backbone, named in passes:
        forms = list(dict.fromkeys(named.values()))
        stores = _open_stores(backbone, forms, folder)
        run = _Run(backbone, stores, batch_size, show_progress, skip_unreadable)
        started = time.monotonic()
        computed = run.fill(dict(zip(keys, paths, strict=True)), forms)
        seconds = time.monotonic() - started
        reasons = problems | {
            path: run.unreadable[key]
            for path, key in zip(paths, keys, strict=True)
            if key in run.unreadable
        }
        listed = [(path, reasons[path]) for path in dict.fromkeys(paths) if path in reasons]
        for name, form in named.items():
            have = [key if key in stores[form] else None for key in keys]
            found[name] = Features(name, stores[form], have, listed, computed, seconds)
    return [found[name] for name in features]


def _passes(
    features: Sequence[str], cache: Path, device: Device
) -> list[tuple[Backbone, dict[str, str]]]:
    """Networks to run, each with its features and their forms in its stores."""
    opened: dict[str, Backbone] = {}
    found: dict[str, tuple[Backbone, dict[str, str]]] = {}
    for name in features:
        extractor, form = parse_feature(name)
        if extractor not in opened:
            opened[extractor] = _placed(open_backbone(extractor, cache), device)
        backbone = opened[extractor]
        if form.startswith(TEN_CROPS):
            found[name] = open_ten_crops(backbone, form), {name: "global"}
        else:
            found.setdefault(extractor, (backbone, {}))[1][name] = form
    return list(found.values())


def load_features(
    dataset: Dataset,
    feature: str = f"{DEFAULT}/global",
    cache: Path | None = None,
    batch_size: int = 8,
    show_progress: bool | None = None,
    device: Device = CPU,
) -> Features:
    """Features of a dataset's images, in order.

    Args:
        dataset: the dataset.
        feature: `imported/NAME`, or EXTRACTOR/FORM to be computed if the cache lacks it.
        cache: folder of the feature stores; the XDG cache by default.
        batch_size: images per forward pass.
        show_progress: None shows a progress bar in a terminal.
        device: auto, cpu, cuda, cuda:N or mps.
    """
    if not feature.startswith("imported/"):
        check_images(dataset, feature)
        return extract(dataset.paths(), feature, cache, batch_size, show_progress, device=device)
    name = feature.removeprefix("imported/")
    if dataset.root is None:
        raise PolyglanceError(f"{dataset.name}: '{feature}' exists only in a dataset folder")
    folder = dataset.root / "features"
    names = [found.removeprefix("imported/") for found in imported_names(dataset)]
    if name not in names:  # also rejects "../other", where a store may exist
        hint = nearest(name, names) if names else " (it has none)"
        raise PolyglanceError(f"{folder}: no imported features '{name}'{hint}")
    store = FeatureStore.open(folder / name)
    store.check(entry.image for entry in dataset.images)
    keys = [entry.image if entry.image in store else None for entry in dataset.images]
    missing = [dataset.path(p) for p, key in zip(dataset.images, keys, strict=True) if key is None]
    return Features(feature, store, keys, [(path, f"not in '{feature}'") for path in missing])


def imported_names(dataset: Dataset) -> list[str]:
    """The features in a dataset folder, as `imported/NAME`."""
    if dataset.root is None:
        return []
    folders = (path.parent.name for path in (dataset.root / "features").glob(f"*/{META}"))
    return sorted(f"imported/{name}" for name in folders)


def check_images(dataset: Dataset, feature: str) -> None:
    """Raise if a dataset has features instead of images, from which nothing can be computed."""
    names = imported_names(dataset)
    if names and not dataset.image_folder.is_dir():
        raise PolyglanceError(
            f"{dataset.label}: has no images to compute '{feature}' from; it has "
            f"{', '.join(names)}: train on that with --set image.feature={names[0]}, or use a "
            "model that takes it"
        )


class _Run:
    """One pass of one backbone; `unreadable` collects content key → reason."""

    def __init__(
        self,
        backbone: Backbone,
        stores: Stores,
        batch_size: int,
        show_progress: bool | None,
        skip_unreadable: bool,
    ) -> None:
        self.backbone, self.stores, self.batch_size = backbone, stores, batch_size
        self.show_progress, self.skip_unreadable = show_progress, skip_unreadable
        self.unreadable: dict[str, str] = {}

    def fill(self, images: dict[str | None, Path], forms: list[str]) -> int:
        """Compute features that a form lacks or has damaged; the number of images computed."""
        for store in self.stores.values():
            store.forget(store.damaged(key for key in images if key is not None))
        todo = [
            (key, path)
            for key, path in images.items()
            if key is not None and any(key not in self.stores[form] for form in forms)
        ]
        if not todo:
            return 0
        done, batch = 0, []
        with ExitStack() as stack:
            bar = stack.enter_context(Bar("features", len(todo), "img", self.show_progress))
            for store in self.stores.values():
                stack.enter_context(store)
            for key, path, pixels in _decode(todo, self.backbone.preprocessing, self.batch_size):
                if isinstance(pixels, ImageProblem):
                    self._skip(key, pixels)
                else:
                    batch.append((key, path, pixels))
                if len(batch) == self.batch_size:
                    done += self._write(batch)
                    batch = []
                bar.advance()
            done += self._write(batch)
        return done

    def _write(self, batch: list[tuple[str, Path, np.ndarray]]) -> int:
        """Encode a batch and write its features to disk."""
        if not batch:
            return 0
        encoded = self.backbone(np.stack([pixels for _, _, pixels in batch]))
        vectors = {form: shape_as(encoded, form) for form in self.stores}
        done = 0
        for row, (key, path, _) in enumerate(batch):
            if not all((np.abs(v[row]) <= LARGEST).all() for v in vectors.values()):
                reason = "the network's output is NaN, infinite or beyond float16"
                self._skip(key, ImageProblem(path, reason))
                continue
            done += 1
            for form, store in self.stores.items():
                if key not in store:
                    store.append(key, vectors[form][row])
        for store in self.stores.values():
            store.flush()
        return done

    def _skip(self, key: str, problem: ImageProblem) -> None:
        if not self.skip_unreadable:
            raise problem
        self.unreadable[key] = problem.reason


def shape_as(encoded: BackboneOutput, form: str) -> np.ndarray:
    """The vectors of a form: [b, 1, d] for global, [b, cells, d] for grids."""
    if form == "global":
        return encoded.pooled[:, None]
    if encoded.grid is None:
        raise PolyglanceError(f"'{form}': this network has no grid; use global")
    side = form.removeprefix("grid")
    grid = pool_grid(encoded.grid, int(side)) if side else encoded.grid
    return grid.reshape(len(grid), -1, grid.shape[3])


def _open_stores(backbone: Backbone, forms: list[str], cache: Path) -> Stores:
    """Stores of the requested forms and of the global one, which every pass computes anyway."""
    identity = f"{backbone.identity}-p{PIPELINE}"
    pooled, cell = backbone.dims()
    stores = {}
    for form in dict.fromkeys(["global", *forms]):
        if form != "global" and not cell:
            raise PolyglanceError(f"'{form}': {backbone.identity} has no grid; use global")
        kind: Form = "global" if form == "global" else "set"
        dim = pooled if form == "global" else cell
        folder = cache / "features" / identity / form
        stores[form] = FeatureStore.open_or_create(folder, dim, kind, f"{identity}/{form}")
    return stores


def _content_keys(
    paths: Sequence[Path], show: bool | None
) -> tuple[list[str | None], dict[Path, str]]:
    """Content keys (None for an unreadable file), and the reasons by path."""
    problems: dict[Path, str] = {}
    keys: list[str | None] = []
    with ThreadPoolExecutor(workers()) as pool, Bar("reading", len(paths), "img", show) as bar:
        for path, result in zip(paths, pool.map(_key_or_problem, paths), strict=True):
            if isinstance(result, ImageProblem):
                problems[path] = result.reason
            keys.append(None if isinstance(result, ImageProblem) else result)
            bar.advance()
    return keys, problems


def _key_or_problem(path: Path) -> str | ImageProblem:
    try:
        return content_key(path)
    except ImageProblem as problem:
        return problem


def _decode(
    todo: list[tuple[str, Path]], preprocessing: Preprocessing, batch_size: int
) -> Iterator[tuple[str, Path, np.ndarray | ImageProblem]]:
    """Decoded images in order; threads work up to two batches ahead of the network."""
    read = ahead(
        (path for _, path in todo), lambda path: read_pixels(path, preprocessing), 2 * batch_size
    )
    for (key, path), pixels in zip(todo, read, strict=True):
        yield key, path, pixels


def read_pixels(path: Path, preprocessing: Preprocessing) -> np.ndarray | ImageProblem:
    """A network's input for an image file, or the file's problem."""
    try:
        with reading(path, preprocessing.short_side) as image:
            return preprocessing.apply(image)
    except ImageProblem as problem:
        return problem


def open_backbone(name: str, cache: Path) -> Backbone:
    """The network called `name`.

    Names are the registered ones, `timm:NAME[@weights file]`, `torchvision:NAME[@weights file]`,
    `transformers:FOLDER`, and `onnx:base@DIGEST` or `onnx:FILE@DIGEST` for the network of an
    exported model. Converted networks are cached in `cache`.
    """
    family, colon, rest = name.partition(":")
    if not colon:
        from polyglance.vision.networks.lite import LiteBackbone

        return LiteBackbone(backbones.get(name), cache)
    from polyglance.vision.networks import external, onnx_network  # noqa: F401  (they register)

    if not rest:
        raise PolyglanceError(f"backbone '{name}': name a network after the colon")
    return FAMILIES.get(family)(rest)


def _placed(backbone: Backbone, device: Device) -> Backbone:
    """The network on a device; without torch only the CPU is available."""
    if str(device) == CPU or (device == AUTO and find_spec("torch") is None):
        return backbone
    chosen = choose_device(device)
    return backbone if chosen.type == CPU else backbone.to(chosen)
