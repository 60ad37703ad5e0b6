"""Multi30K in the layout of its git repository (github.com/multi30k/dataset)."""

import re
from collections import defaultdict
from pathlib import Path

from polyglance.core.progress import track
from polyglance.data.convert.common import CONVERTERS, Builder, Conversion, image_list, one_of
from polyglance.errors import PolyglanceError

NATIVE = {"test_2016_flickr": "test", "test_2016": "test"}
"""Task 1 and task 2 name the same 1,000 test images differently."""
PATTERNS = {
    "raw": r"(?P<split>\w+)(?:\.\d)?\.(?P<language>[a-z]{2,3})(?:\.gz)?",
    "tok": r"(?P<split>\w+)\.lc\.norm\.tok(?:\.\d)?\.(?P<language>[a-z]{2,3})(?:\.gz)?",
}
Files = dict[str, dict[str, list[Path]]]
"""split → language → files, in order"""


@CONVERTERS.register("multi30k")
def convert_multi30k(
    source: Path, images: Path | None = None, *, text: str = "raw", tasks: str = "1,2"
) -> Conversion:
    """Multi30K checkout: task 1 as translations, task 2 as independent captions.

    Args:
        source: the checkout, or its folder `data`.
        images: folder with the image files, if available.
        text: `raw` (sentences) or `tok` (lower-cased, normalised Moses tokens with escapes such as
            &apos;, as used in the papers).
        tasks: 1, 2 or 1,2.
    """
    one_of("text", text, *PATTERNS)
    root = source / "data" if (source / "data").is_dir() else source
    jobs = []
    for task in one_of("tasks", tasks, "1", "2", "1,2", "2,1").split(","):
        folder = root / f"task{task}"
        for split, languages in _files(folder / text, PATTERNS[text]).items():
            names = _names(root, task, split)
            for language, paths in languages.items():
                kind = "translation" if task == "1" else "independent"
                jobs += [(path, names, NATIVE.get(split, split), language, kind) for path in paths]
    builder = Builder()
    for job in track(jobs, "reading", len(jobs), "files"):
        builder.add_lines(*job)
    return builder.finish(images, source)


def _files(folder: Path, pattern: str) -> Files:
    if not folder.is_dir():
        raise PolyglanceError(
            f"{folder}: no such folder; pass a checkout of github.com/multi30k/dataset"
        )
    found: Files = defaultdict(lambda: defaultdict(list))
    for path in sorted(folder.iterdir()):
        if match := re.fullmatch(pattern, path.name):
            found[match["split"]][match["language"]].append(path)
    if not found:
        raise PolyglanceError(f"{folder}: contains no caption files such as train.en.gz")
    order = ["train", "val", *NATIVE, *sorted(found)]
    return {split: found[split] for split in sorted(found, key=order.index)}


def _names(root: Path, task: str, split: str) -> tuple[Path, list[str]]:
    path = split_list(root, split, task)
    if path is None:
        lists = _lists(root, split)
        raise PolyglanceError(
            f"{lists['1']}: no such file, nor {lists['2']}; one is needed for the image names"
        )
    return path, image_list(path)


def split_list(root: Path, split: str, task: str = "1") -> Path | None:
    """The list of a split's images, or None.

    Args:
        root: the folder `data` of a checkout.
        split: its name in task 1 or task 2.
        task: whose list is preferred; both lists are in the same order.
    """
    lists = _lists(root, split)
    return next((path for path in (lists[task], *lists.values()) if path.is_file()), None)


def _lists(root: Path, split: str) -> dict[str, Path]:
    flickr = split if split != "test_2016" else "test_2016_flickr"
    comparable = split.removesuffix("_flickr") if split == "test_2016_flickr" else split
    return {
        "1": root / "task1" / "image_splits" / f"{flickr}.txt",
        "2": root / "task2" / "image_splits" / f"{comparable}_images.txt",
    }
