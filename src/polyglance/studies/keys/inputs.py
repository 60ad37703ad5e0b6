"""Inputs of a run besides the data: a lexicon, word vectors, a pretrained encoder, a model.

Their content is part of a run's identity; their paths are not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe
from polyglance.recipes.schema import ClassesHead, TransferRecipe
from polyglance.studies.keys.digests import Digests
from polyglance.text.lexicon import lexicon_files, lexicon_path
from polyglance.text.vectors.read import SUFFIXES, vector_file
from polyglance.text.vectors.trained import needs_lexicon

MISSING = "missing"
"""Used instead of a digest, so that a plan can be made without the file."""
ENCODER_FILES = ("*.json", "*.safetensors", "pytorch_model*.bin", "*.txt", "*.model")
MADE = ("captions", "text-only", "identical")
"""Dictionaries that are not files."""


@dataclass(frozen=True)
class Input:
    """A file or folder named in a recipe field; `part` distinguishes several of one field."""

    field: str
    path: Path | None
    needed_by: str
    part: str = ""
    patterns: tuple[str, ...] = ()
    """For a folder, the relevant files; all if empty."""

    @property
    def name(self) -> str:
        return f"{self.field}:{self.part}" if self.part else self.field

    @property
    def files(self) -> list[Path]:
        """The relevant files; none if it is missing."""
        if self.path is None or not self.path.exists():
            return []
        if self.path.is_file():
            return [self.path]
        if self.field.endswith(".lexicon"):
            return lexicon_files(self.path)
        found = (path for pattern in self.patterns or ("**/*",) for path in self.path.glob(pattern))
        return sorted({path for path in found if path.is_file()})

    def digest(self, digests: Digests) -> str:
        """Digest of the names and contents of its files; for a single file, of its content only."""
        files, path = self.files, self.path
        return MISSING if not files or path is None else digests.of_files(files, path)


def run_inputs(recipe: Recipe, languages: Sequence[str], lexicon: Path | None) -> list[Input]:
    """What a training reads besides its dataset.

    Args:
        recipe: the system.
        languages: of the data, for a recipe that names none.
        lexicon: if the recipe names none; None is $POLYGLANCE_LEXICON.
    """
    text, named = recipe.text, recipe.data.languages or languages
    found = []
    if (what := needs_lexicon(recipe)) is not None:
        own = getattr(text.embedder, "lexicon", None)
        found.append(Input("text.embedder.lexicon", _lexicon(own or lexicon), what))
    head = recipe.image.head
    if isinstance(head, ClassesHead) and head.start == "names":
        path = _lexicon(head.lexicon or lexicon)
        found.append(Input("image.head.lexicon", path, "image.head.start=names"))
    if recipe.naming is not None:
        path = Path(recipe.naming.concepts).expanduser()
        found.append(Input("naming.concepts", path, "naming.concepts"))
    found += _caption_inputs(recipe)
    if (vectors := getattr(text.embedder, "vectors", None)) is not None:
        found += _vectors("text.embedder.vectors", Path(vectors).expanduser(), named)
    if (graphs := getattr(text.embedder, "graphs", None)) is not None:
        field = "text.embedder.graphs"
        found.append(Input(field, Path(graphs).expanduser(), field))
    for name in getattr(text.embedder, "piece_texts", ()):
        field = "text.embedder.piece_texts"
        found.append(Input(field, Path(name).expanduser(), field))
    for name in ("text.encoder", "text.embedder"):
        if folder := getattr(getattr(text, name.removeprefix("text.")), "pretrained", None):
            path = Path(folder).expanduser()
            field = f"{name}.pretrained"
            found.append(Input(field, path, field, patterns=ENCODER_FILES))
    if recipe.transfer is not None:
        found += _transfer_inputs(recipe.transfer, lexicon)
    return found


def _caption_inputs(recipe: Recipe) -> Iterator[Input]:
    """Files of captions, texts and names besides the dataset's own."""
    files = {"data.more": recipe.data.more}
    files["sampling.text_files"] = getattr(recipe.sampling, "text_files", [])
    for field, names in files.items():
        for number, name in enumerate(names):
            yield Input(field, Path(name).expanduser(), field, str(number))
    if beside := getattr(recipe.sampling, "beside", None):
        path, field = Path(beside.data).expanduser(), "sampling.beside.data"
        yield Input(field, path, field, patterns=("captions.jsonl*",))


def _transfer_inputs(transfer: TransferRecipe, lexicon: Path | None) -> Iterator[Input]:
    if not transfer.source.startswith(("run:", "source:")):
        yield Input("transfer.source", Path(transfer.source).expanduser(), "transfer.source")
    if not (transfer.keep or transfer.translator == "aligned"):
        return
    field = "transfer.dictionary"
    for name in transfer.dictionary.split("+"):
        kind, _, rest = name.partition(":")
        needed_by = f"{field}={name}"
        if kind == "lexicon":
            yield Input("transfer.lexicon", _lexicon(transfer.lexicon or lexicon), needed_by)
        elif kind not in MADE:
            yield Input(field, Path(name).expanduser(), needed_by, Path(name).name)
        elif rest:  # captions of another dataset
            yield Input(field, Path(rest).expanduser(), needed_by, kind, ("*.jsonl*",))
    if transfer.keep and transfer.vectors not in (None, "captions"):
        folder = Path(str(transfer.vectors)).expanduser()
        patterns = tuple(f"*{suffix}" for suffix in SUFFIXES)
        yield Input("transfer.vectors", folder, "transfer.vectors", patterns=patterns)


def dictionary_kinds(text: str) -> str:
    """A dictionary's name without paths.

    >>> dictionary_kinds("lexicon:fr-de+captions:folder+pairs.txt")
    'lexicon+captions+file'
    """
    kinds = [name.partition(":")[0] for name in text.split("+")]
    return "+".join(kind if kind in ("lexicon", *MADE) else "file" for kind in kinds)


def _lexicon(named: str | Path | None) -> Path | None:
    try:
        return lexicon_path(named, "")
    except PolyglanceError:
        return Path(named).expanduser() if named else None


def _vectors(field: str, path: Path, languages: Sequence[str]) -> Iterator[Input]:
    """A file, or the file of each language in a folder."""
    if path.is_file():
        yield Input(field, path, field)
        return
    for code in sorted(languages):
        try:
            file = vector_file(path, code, field)
        except PolyglanceError:
            file = path / f"{code}.vec"
        yield Input(field, file, f"{field} ({code})", code)
