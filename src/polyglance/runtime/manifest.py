"""The manifest of an exported model: its files, which are verified on reading."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from polyglance.core.trust import refuse_links
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import file_digest, json_digest
from polyglance.storage.files import has_file, read_json, refuse_pipes
from polyglance.vision.networks.preprocess import CentreAndWhole, Preprocessing

FILE, EMBEDDER, BACKBONE = "manifest.json", "embedder", "backbone.onnx"
BACKGROUND, CARD = "background.npz", "card.json"
FORMAT = 1
Precision = Literal["fp32", "fp16", "int8"]
_LABELS = {"version", "recipe_name", "drawings", "without_backbone", "trained_on"}
"""Fields that describe a model and do not affect its embeddings."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TowerFiles(_Part):
    """A text tower: its graphs, and the ids of the rows of its word table."""

    text: str
    rows: list[tuple[int, int]] = Field(description="first id and number of ids, by run of rows")
    word_dim: int = Field(gt=0)
    unseen: str | None = Field(None, description="graph for words without an id")
    columns: list[str] = Field([], description="inputs of that graph")

    @property
    def names(self) -> list[str]:
        """Its file names."""
        return [self.text, *([self.unseen] if self.unseen else [])]


class SentenceFiles(_Part):
    """A sentence encoder: its graph and tables."""

    text: str
    tables: str = Field(description="vectors of pieces and hashed subwords")
    bits: Literal[4, 8, 16, 32] = Field(description="largest number of bits per value")
    piece_dim: int = Field(gt=0)
    word_dim: int = Field(ge=0, description="of hashed subwords; 0 if there are none")

    @property
    def names(self) -> list[str]:
        """Its file names."""
        return [self.text, self.tables]


class Preparation(_Part):
    """Preprocessing of the backbone, as in `vision.networks.preprocess.Preprocessing`."""

    size: int = Field(gt=0)
    crop: float = Field(gt=0, le=1)
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: Literal["bicubic", "bilinear", "nearest", "lanczos"]
    squash: bool
    whole: bool = False

    def preprocessing(self) -> Preprocessing:
        """As the vision room's class."""
        kind = CentreAndWhole if self.whole else Preprocessing
        return kind(**self.model_dump(exclude={"whole"}))


class Manifest(_Part):
    """An exported model's properties, and the digests of its files."""

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
    preparation: Preparation | None = Field(None, description="null if no backbone was exported")
    without_backbone: str = Field("", description="why")
    towers: dict[str, TowerFiles | SentenceFiles]
    pivots: dict[str, str] = {}
    recipe: dict[str, Any]
    trained_on: str = Field("", description="the training data, in a sentence; empty if unknown")
    files: dict[str, str]
    id: str = Field("", description="digest of what embeddings depend on")
    former: list[str] = Field([], description="ids of exports with the same embeddings, last first")

    @property
    def trained_backbone(self) -> bool:
        """Whether the image network was trained in the tower: then features are never stored."""
        return (self.recipe.get("image") or {}).get("backbone") is not None

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids that the model's embeddings may be kept under, its own first."""
        return (*dict.fromkeys([self.id, self.digest(), self.full_digest(), *self.former]),)

    def digest(self) -> str:
        """Digest of everything that embeddings depend on, so not of the background, the
        facts for the card, and labels.

        Models with the same digest share a joint space: libraries stay valid when scores are
        recalibrated.
        """
        fields = self.model_dump(mode="json", exclude={"id", "former", *_LABELS})
        fields["files"] = {k: v for k, v in self.files.items() if k not in (BACKGROUND, CARD)}
        return json_digest(fields)

    def full_digest(self) -> str:
        """Digest of every field of older exports, which is their id."""
        return json_digest(self.model_dump(mode="json", exclude={"id", "former", "trained_on"}))

    def renewed(self, files: dict[str, str]) -> "Manifest":
        """The manifest with other files; ids are kept as former ones if embeddings are the same.

        Args:
            files: name → digest, as `file_digests` has them.
        """
        changed = self.model_copy(update={"files": files})
        own, before = changed.digest(), self.digest()
        former = [one for one in self.ids if one != own] if own == before else []
        return changed.model_copy(update={"id": own, "former": former})


def file_digests(folder: Path) -> dict[str, str]:
    """Name → SHA-256 of every file in a folder except the manifest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: file_digest(path) for name, path in named.items() if name != FILE}


def is_exported(folder: Path) -> bool:
    """Whether a folder has an exported model."""
    return has_file(folder / FILE)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an exported model, after verifying that its files are unchanged."""
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
    if found.id not in (found.digest(), found.full_digest()):
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
            raise PolyglanceError(f"{folder / FILE}: refers to '{name}', which is not listed")
