"""The folder of a run: one training at a time, new or one that can be resumed."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from polyglance.data.dataset import Dataset, caption_file, dataset_fingerprint
from polyglance.errors import PolyglanceError
from polyglance.models.folder import CONFIG
from polyglance.recipes import Recipe, check_recipe
from polyglance.storage.digest import content_digest, file_digest
from polyglance.storage.files import atomic, has_file, read_json
from polyglance.storage.staging import sweep_files

_HELD = threading.local()
"""Run folders that this thread has locked."""
PREFIX = ".training."
LOCK, OWNER = f"{PREFIX}lock", f"{PREFIX}pid"
BEGUN = {"vocabulary.json", "alphabet.json", "vectors.json", "words.json", "words.safetensors"}
BEGUN |= {"added.json", "subwords", "encoder", "pieces.safetensors"}
"""Files of embedders, which a training writes at its start."""
# The process is not named in the lock itself, which Windows lets nobody else read.


@contextmanager
def lock_run(out: Path) -> Iterator[None]:
    """Keep other trainings out of the run folder `out`, which is made if it is not there.

    The operating system frees the lock when its process dies, however that happens. The lock
    file stays in a run: a file that is unlinked while others open it can be locked twice. From a
    folder without a model it is removed, and so are empty folders made for it. Who holds the lock
    may take it again.
    """
    held: set[Path] = _HELD.__dict__.setdefault("folders", set())
    if out.absolute() in held:
        yield
        return
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    lock = FileLock(out / LOCK)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise PolyglanceError(
            f"{out}: another training{_owner(out)} is writing to this folder; wait for it to end, "
            "or choose another --out"
        ) from None
    except OSError as error:
        _remove(made)
        raise PolyglanceError(f"{out}: cannot be written ({error.strerror or error})") from None
    try:
        held.add(out.absolute())
        with atomic(out / OWNER, "w") as handle:
            handle.write(str(os.getpid()))
        if (out / CONFIG).is_file() or is_begun(out) or holds_nothing(out):
            sweep_files(out)  # of a training that was killed
        yield
    finally:
        held.discard(out.absolute())
        with suppress(OSError):
            (out / OWNER).unlink()
        if not (out / CONFIG).is_file():
            with suppress(OSError):
                (out / LOCK).unlink()
        lock.release()
        _remove(made)


def holds_nothing(out: Path) -> bool:
    """Whether a folder is missing, or empty but for what `lock_run` and a kill left there."""
    left = (PREFIX, f".{CONFIG}.")
    return not out.exists() or all(path.name.startswith(left) for path in out.iterdir())


def is_begun(out: Path) -> bool:
    """Whether a folder holds a run that was killed before its model.json, and nothing else.

    Since version 0.2 that file is written first; before, it was the vocabulary's.
    """
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    return bool(names) and names <= BEGUN


def _owner(out: Path) -> str:
    with suppress(OSError, ValueError):
        return f" (process {int((out / OWNER).read_text())})"
    return ""


def _remove(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, as far as they are empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def run_fingerprint(recipe: Recipe, dataset: Dataset) -> str:
    """Of all captions and texts that a run is trained on: the dataset's, and those of files."""
    names = [*recipe.data.more, *getattr(recipe.sampling, "text_files", ())]
    own, paths = dataset_fingerprint(dataset), [Path(name).expanduser() for name in names]
    if beside := getattr(recipe.sampling, "beside", None):
        paths.append(caption_file(Path(beside.data).expanduser()))
    for path in paths:
        if not has_file(path):
            raise PolyglanceError(f"{path}: no such file of captions; the recipe names it")
    return content_digest([own, *map(file_digest, paths)]) if paths else own


def check_folder(out: Path, recipe: Recipe, fingerprint: str, resume: bool) -> None:
    """Refuse to write over something, or to go on with another recipe or other data.

    Args:
        out: the run's folder.
        recipe: of the run.
        fingerprint: of the data.
        resume: whether a run that is there goes on.
    """
    if holds_nothing(out):
        return
    path = out / CONFIG
    if not has_file(path) and is_begun(out):
        if resume:
            return
        raise PolyglanceError(
            f"{out}: an unfinished run is there; continue it with --resume, or choose another --out"
        )
    if not has_file(path):
        raise PolyglanceError(f"{out}: the folder is not empty and not a run; choose another --out")
    if not resume:
        raise PolyglanceError(
            f"{out}: a run already exists there; continue it with --resume, or choose another --out"
        )
    saved = read_json(path)
    if not isinstance(saved, dict) or not isinstance(saved.get("recipe"), dict):
        raise PolyglanceError(f"{path}: not the description of a run; choose another --out")
    if not _same_but_length(check_recipe(saved["recipe"], str(path)), recipe):
        raise PolyglanceError(
            f"{out}: the run there has a different recipe; --resume needs the same recipe and "
            f"--set, except for training.epochs (see 'recipe' in {path})"
        )
    if saved.get("fingerprint") != fingerprint:
        raise PolyglanceError(
            f"{out}: the captions have changed since the run there was started on "
            f"'{saved.get('data')}'; start again with another --out"
        )


def _same_but_length(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes are the same but for the length of the training."""
    length = {"epochs": one.training.epochs, "updates": one.training.updates}
    return one == other.model_copy(update={"training": other.training.model_copy(update=length)})
