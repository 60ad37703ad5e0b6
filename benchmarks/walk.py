"""How much code a task runs through: files and functions of the package.

    python benchmarks/walk.py

Two tasks are traced, each in a separate process: a training of the recipe `nce` from a CSV with
generated images, from the call of `train` to its end; and the conversion of one caption to ids by
a trained model. Counts functions of the package that are called at least once (except lambdas,
comprehensions and code run at import) and their files.
"""

import csv
import inspect
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import polyglance

ROOT = Path(polyglance.__file__).parent
IMAGES = 24


class Walk:
    """Collects the package's functions that are called while it is active."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        path, name = frame.f_code.co_filename, frame.f_code.co_qualname
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED and "<" not in name.split(".")[-1]
        if event == "call" and function and path.startswith(str(ROOT)):
            self.functions.add((str(Path(path).relative_to(ROOT)), name))

    def __enter__(self) -> "Walk":
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def count(self) -> dict[str, int]:
        """Files and functions."""
        return {
            "files": len({file for file, _ in self.functions}),
            "functions": len(self.functions),
        }


def write_csv(folder: Path) -> Path:
    """A CSV of path, caption, language, split, with images of the generated world."""
    from polyglance.data.generated import write_generated

    made = folder / "made"
    write_generated(made, IMAGES, seed=0)
    dataset = polyglance.load_dataset(made)
    path = folder / "captions.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(["path", "caption", "language", "split"])
        for number, entry in enumerate(dataset.images):
            split = ("train", "train", "train", "val")[number % 4]
            file = dataset.path(entry)
            for language in ("en", "de"):
                for texts in entry.captions.get(language, {}).values():
                    rows.writerows([file, text, language, split] for text in texts)
    return path


def walk_training(folder: Path) -> dict[str, int]:
    """`train nce` from a CSV."""
    path = write_csv(folder)
    for name in polyglance.__all__:
        getattr(polyglance, name)
    small = {"training.updates": 2, "training.batch_size": 8, "text.embedder.min_count": 1}
    with Walk() as walk:
        recipe = polyglance.load_recipe("nce", small)
        dataset = polyglance.load_dataset(path)
        polyglance.train(
            recipe, dataset, folder / "run", cache=folder / "cache", show_progress=False
        )
    return walk.count()


def walk_caption(folder: Path) -> dict[str, int]:
    """One caption to ids."""
    from polyglance.text.embedders import TableEmbedder, Vocabulary

    recipe = polyglance.load_recipe("nce")
    embedder = TableEmbedder(recipe, {"": Vocabulary(["a", "dog"])})
    model = polyglance.Model(recipe, embedder, 8, ["en"])
    with Walk() as walk:
        model.tokens(["A dog!"], "en")
    return walk.count()


WALKS = {"train nce from a CSV": walk_training, "a caption to its ids": walk_caption}


def main() -> None:
    """Print a table of the walks."""
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(WALKS[sys.argv[1]](Path(folder))))
        return
    print(f"{'walk':28}{'files':>8}{'functions':>11}")
    for name in WALKS:
        run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        found = json.loads(run.stdout.splitlines()[-1])
        print(f"{name:28}{found['files']:>8}{found['functions']:>11}")


if __name__ == "__main__":
    main()
