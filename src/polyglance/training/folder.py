"""The folder of a run: locked by one training at a time, new or resumable."""

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from polyglance.data.dataset import Dataset, caption_file, dataset_fingerprint
from polyglance.errors import PolyglanceError
from polyglance.models.folder import CONFIG, WEIGHTS
from polyglance.recipes import Recipe, check_recipe
from polyglance.storage.digest import content_digest, file_digest
from polyglance.storage.files import atomic, has_file, read_json
from polyglance.storage.locks import take_lock
from polyglance.storage.staging import sweep_files
from polyglance.training.checkpoint import FILE as CHECKPOINT
from polyglance.training.log import LOGS

_HELD = threading.local()
"""Run folders locked by this thread."""
PREFIX = ".training."
LOCK, OWNER = f"{PREFIX}lock", f"{PREFIX}pid"
EMBEDDER_FILES = {
    "vocabulary.json",
    "alphabet.json",
    "vectors.json",
    "words.json",
    "words.safetensors",
}
EMBEDDER_FILES |= {"added.json", "subwords", "encoder", "pieces.safetensors"}
"""Files of embedders, written at the start of a training."""
# The process id is not in the lock file itself, which others cannot read on Windows.


@contextmanager
def lock_run(out: Path) -> Iterator[None]:
    """Keep other trainings out of the run folder `out`, which is created if necessary.

    The operating system frees the lock when its process dies. The lock file stays in a run: a
    file that is unlinked while others open it could be locked twice. In a folder without a model
    it is removed, together with empty folders created for it. The lock is reentrant.
    """
    held: set[Path] = _HELD.__dict__.setdefault("folders", set())
    if out.absolute() in held:
        yield
        return
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = take_lock(out / LOCK)
    except OSError as error:
        _remove(made)
        raise PolyglanceError(f"{out}: cannot be written ({error.strerror or error})") from None
    if lock is None:
        raise PolyglanceError(
            f"{out}: another training{_owner(out)} is writing to this folder; wait for it to end, "
            "or choose another --out"
        )
    try:
        held.add(out.absolute())
        with atomic(out / OWNER, "w") as handle:
            handle.write(str(os.getpid()))
        if (out / CONFIG).is_file() or is_interrupted_start(out) or is_empty_run(out):
            sweep_files(out)  # left by a killed training
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


def is_empty_run(out: Path) -> bool:
    """Whether a folder is missing, or empty except for what `lock_run` and a kill left."""
    left = (PREFIX, f".{CONFIG}.")
    return not out.exists() or all(path.name.startswith(left) for path in out.iterdir())


def is_interrupted_start(out: Path) -> bool:
    """Whether a folder has nothing but a run that was killed before its model.json.

    Since version 0.2 that file is written first; before, the vocabulary was.
    """
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    return bool(names) and names <= EMBEDDER_FILES


@contextmanager
def removed_on_failure(out: Path) -> Iterator[None]:
    """Remove a new run from `out`, which is locked, if an error ends it before a checkpoint.

    Otherwise its files would only be in the way: such a run cannot be resumed with another recipe,
    as the error may advise. An interrupted run stays, and so does one that was there before.
    """
    is_new = is_empty_run(out)
    try:
        yield
    except Exception:
        if is_new and not has_file(out / CHECKPOINT):
            for name in (*EMBEDDER_FILES, *LOGS, WEIGHTS, CONFIG):
                _remove_path(out / name)
        raise


def _remove_path(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _owner(out: Path) -> str:
    with suppress(OSError, ValueError):
        return f" (process {int((out / OWNER).read_text())})"
    return ""


def _remove(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, while they are empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


WORDS = "'polyglance data words' writes such a file of a lexicon's words"


def run_fingerprint(recipe: Recipe, dataset: Dataset) -> str:
    """Fingerprint of all captions and texts of a run: the dataset's and those in files."""
    own, paths = dataset_fingerprint(dataset), list[Path]()
    texts = getattr(recipe.sampling, "text_files", ())
    for field, names in (("data.more", recipe.data.more), ("sampling.text_files", texts)):
        for name in names:
            path = Path(name).expanduser()
            if not has_file(path):
                hint = "" if field == "data.more" else f"; {WORDS}"
                raise PolyglanceError(
                    f"{path}: no such file, but the recipe has it in {field}{hint}"
                )
            paths.append(path)
    if beside := getattr(recipe.sampling, "beside", None):
        folder = Path(beside.data).expanduser()
        if not folder.exists():
            raise PolyglanceError(
                f"{folder}: no such folder, but the recipe has it in sampling.beside.data; prepare "
                "named things with 'polyglance data emoji', or set sampling.beside.data"
            )
        paths.append(caption_file(folder))
    return content_digest([own, *map(file_digest, paths)]) if paths else own


def check_folder(out: Path, recipe: Recipe, fingerprint: str, resume: bool) -> None:
    """Raise rather than overwrite something, or resume with a different recipe or data.

    Args:
        out: the run's folder.
        recipe: of the run.
        fingerprint: of the data.
        resume: whether to resume an existing run.
    """
    if is_empty_run(out):
        return
    path = out / CONFIG
    if not has_file(path) and is_interrupted_start(out):
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
        raise PolyglanceError(f"{path}: does not describe a run; choose another --out")
    if not _can_continue(check_recipe(saved["recipe"], str(path)), recipe):
        raise PolyglanceError(
            f"{out}: the run there has a different recipe; --resume needs the same recipe and "
            f"--set, except for training.epochs and image.backbone.chunk (see 'recipe' in {path})"
        )
    if saved.get("fingerprint") != fingerprint:
        raise PolyglanceError(
            f"{out}: the captions have changed since the run there was started on "
            f"'{saved.get('data')}'; start again with another --out"
        )


def _can_continue(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes are the same except for the length of the training and its memory."""
    length = {"epochs": one.training.epochs, "updates": one.training.updates}
    changes: dict[str, Any] = {"training": other.training.model_copy(update=length)}
    mine, others = one.image.backbone, other.image.backbone
    if mine is not None and others is not None:
        backbone = others.model_copy(update={"chunk": mine.chunk})
        changes["image"] = other.image.model_copy(update={"backbone": backbone})
    return one == other.model_copy(update=changes)
