"""The manifest of an exported model: what its files are, checked whenever one is read."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from polyglance.core.trust import refuse_links
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import file_digest, json_digest
from polyglance.storage.files import has_file, read_json, refuse_pipes
from polyglance.vision.networks.preprocess import CentreAndWhole, Preprocessing

FILE, EMBEDDER, BACKBONE = "manifest.json", "embedder", "backbone.onnx"
FORMAT = 1
Precision = Literal["fp32", "fp16", "int8"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TowerFiles(_Part):
    """A text tower: its graphs, and which rows of its word table have which ids."""

    text: str
    rows: list[tuple[int, int]] = Field(description="first id and number of ids, row after row")
    word_dim: int = Field(gt=0)
    unseen: str | None = Field(None, description="graph of words that have no id")
    columns: list[str] = Field([], description="inputs of that graph")

    @property
    def names(self) -> list[str]:
        """Its files."""
        return [self.text, *([self.unseen] if self.unseen else [])]


class SentenceFiles(_Part):
    """A sentence encoder: its graph, and the tables of what it reads."""

    text: str
    tables: str = Field(description="vectors of pieces and of hashed subwords")
    bits: Literal[4, 8, 16, 32] = Field(description="of a number of the tables, at most")
    piece_dim: int = Field(gt=0)
    word_dim: int = Field(ge=0, description="of hashed subwords; 0 where there are none")

    @property
    def names(self) -> list[str]:
        """Its files."""
        return [self.text, self.tables]


class Preparation(_Part):
    """How the backbone's pictures are prepared, as `vision.networks.preprocess.Preprocessing`."""

    size: int = Field(gt=0)
    crop: float = Field(gt=0, le=1)
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: Literal["bicubic", "bilinear", "nearest", "lanczos"]
    squash: bool
    whole: bool = False

    def preprocessing(self) -> Preprocessing:
        """The same as the vision package has it."""
        kind = CentreAndWhole if self.whole else Preprocessing
        return kind(**self.model_dump(exclude={"whole"}))


class Manifest(_Part):
    """What an exported model is, and the digests of its files."""

    format: Literal[1] = 1
    version: str = Field(description="of the package that wrote it")
    recipe_name: str
    dim: int = Field(gt=0)
    similarity: str
    languages: list[str]
    drawings: bool = False
    precision: Precision = "fp32"
    feature: str
    feature_dim: int = Field(gt=0)
    images: dict[Literal["global", "set"], str]
    preparation: Preparation | None = Field(None, description="none: no backbone was exported")
    without_backbone: str = Field("", description="why")
    towers: dict[str, TowerFiles | SentenceFiles]
    pivots: dict[str, str] = {}
    recipe: dict[str, Any]
    files: dict[str, str]
    id: str = Field("", description="digest of all the others")

    @property
    def sees(self) -> bool:
        """Whether the image network was trained in the tower: its features are never stored."""
        return (self.recipe.get("image") or {}).get("backbone") is not None

    def digest(self) -> str:
        """Of every field but `id`, the files' digests among them."""
        return json_digest(self.model_dump(mode="json", exclude={"id"}))


def file_digests(folder: Path) -> dict[str, str]:
    """Name → SHA-256 of every file below a folder but the manifest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: file_digest(path) for name, path in named.items() if name != FILE}


def is_exported(folder: Path) -> bool:
    """Whether a folder is one of an exported model."""
    return has_file(folder / FILE)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an exported model whose files are all there and as they were written."""
    path = folder / FILE
    if not is_exported(folder):
        raise PolyglanceError(
            f"{folder}: not an exported model, it has no {FILE}; "
            "write one with 'polyglance export MODEL --onnx OUT'"
        )
    refuse_pipes(folder)
    refuse_links(folder)
    value = read_json(path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise PolyglanceError(f"{path}: not an export of format {FORMAT}; export the model again")
    try:
        found = Manifest.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise PolyglanceError(f"{path}: field '{field}': {first['msg']}") from None
    if found.id != found.digest():
        raise PolyglanceError(f"{path}: was changed after the export; export the model again")
    _check_files(folder, found)
    return found


def _check_files(folder: Path, manifest: Manifest) -> None:
    found = file_digests(folder)
    for name in [*manifest.files, *found]:
        if found.get(name) != manifest.files.get(name):
            problem = (
                "is missing"
                if name not in found
                else "is damaged or was changed"
                if name in manifest.files
                else "does not belong here"
            )
            raise PolyglanceError(f"{folder / name}: {problem}; copy the whole folder again")
    named = [*manifest.images.values(), *([BACKBONE] if manifest.preparation else [])]
    for tower in manifest.towers.values():
        named += tower.names
    for name in named:
        if name not in manifest.files:
            raise PolyglanceError(f"{folder / FILE}: names the file '{name}', which is not listed")
