"""The folder of a run: new, or one that can be gone on with."""

from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.files import has_file, read_json
from polyglance.models.model import CONFIG
from polyglance.recipes import Recipe, check_recipe
from polyglance.training.lock import holds_nothing


def check_folder(out: Path, recipe: Recipe, fingerprint: str, resume: bool) -> None:
    """Refuse to write over something, or to go on with another recipe or other data."""
    if holds_nothing(out):
        return
    path = out / CONFIG
    if not has_file(path):
        raise PolyglanceError(f"{out}: the folder is not empty and not a run; choose another --out")
    if not resume:
        raise PolyglanceError(
            f"{out}: a run is there already; go on with --resume, or choose another --out"
        )
    saved = read_json(path)
    if not isinstance(saved, dict) or not isinstance(saved.get("recipe"), dict):
        raise PolyglanceError(f"{path}: not the description of a run; choose another --out")
    if check_recipe(saved["recipe"], str(path)) != recipe:
        raise PolyglanceError(
            f"{out}: the run there has another recipe; --resume needs the same one with the same "
            f"--set (see 'recipe' in {path})"
        )
    if saved.get("fingerprint") != fingerprint:
        raise PolyglanceError(
            f"{out}: the captions have changed since the run there was started on "
            f"'{saved.get('data')}'; start anew with another --out"
        )
