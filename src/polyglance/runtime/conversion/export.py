"""Writes a trained two-tower model as ONNX, to be run without torch."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

import torch
from torch import Tensor

from polyglance.core.version import __version__
from polyglance.errors import PolyglanceError
from polyglance.models import Model, TwoTower
from polyglance.runtime.conversion.portable import (
    GridGraph,
    ImageGraph,
    PortableTower,
    SentenceGraph,
    portable_network,
    portable_towers,
)
from polyglance.runtime.conversion.precision import store_as
from polyglance.runtime.conversion.trace import to_onnx
from polyglance.runtime.encoding.tables import Bits, store_table
from polyglance.runtime.folders import model_folder
from polyglance.runtime.manifest import (
    BACKBONE,
    EMBEDDER,
    FILE,
    Manifest,
    Precision,
    Preparation,
    SentenceFiles,
    TowerFiles,
    file_digests,
)
from polyglance.runtime.origin import origin_of_run
from polyglance.storage.files import atomic, cache_dir, write_json
from polyglance.storage.staging import staged
from polyglance.storage.tensors import write_tensors
from polyglance.text.embedders import Embedder, SubwordEmbedder
from polyglance.text.encoders import SentenceTower
from polyglance.vision.extraction.features import parse_feature
from polyglance.vision.image_network import ImageNetwork
from polyglance.vision.networks.backbones import backbones
from polyglance.vision.networks.lite import TOLERANCE, LiteBackbone
from polyglance.vision.networks.onnx_network import FAMILY, SETTINGS, open_onnx
from polyglance.vision.networks.preprocess import Preprocessing

SHAPES = ((3, 4), (5, 7), (1, 1))
"""Sizes of the examples that are traced and compared: texts × words, images × vectors."""
BITS: dict[Precision, Bits] = {"fp32": 32, "fp16": 16, "int8": 8}


def export_model(
    model: Model | str | Path,
    out: str | Path,
    precision: Precision = "fp32",
    cache: Path | None = None,
    table_bits: Bits | None = None,
    pieces: int | None = None,
    texts: Iterable[str] = (),
    whole: bool = False,
) -> Manifest:
    """Export a model to ONNX, for `polyglance.runtime.load`.

    The folder contains the text tower (or one per language, if the model has several), the image
    tower, the backbone, the files of the embedder, and a manifest. It is written completely or
    not at all. A model without two towers, or with a part that ONNX cannot express, is an error.

    Args:
        model: a trained model or its folder.
        out: output folder; must be new or empty.
        precision: storage precision of the weights: fp32, fp16, or int8 with a scale per row.
        cache: folder for converted image networks and the pieces of `texts`; None is the XDG
            cache.
        table_bits: bits per value in the tables of a sentence encoder, 4, 8, 16 or 32; None
            follows `precision`. Pieces never use more than 8 bits, which are lossless.
        pieces: number of most probable pieces that a sentence encoder keeps, in addition to
            characters and the pieces in `texts`; None keeps all.
        texts: see `pieces`.
        whole: use both the whole image, squashed, and its centre, and average the two vectors:
            better results in twice the time.

    With a model without an image network:

    >>> import polyglance
    >>> from tempfile import TemporaryDirectory
    >>> from polyglance.text.embedders import TableEmbedder, Vocabulary
    >>> sizes = {"text.encoder.hidden": 8, "joint.dim": 16}
    >>> recipe = polyglance.load_recipe("nce", {"image.feature": "imported/mine", **sizes})
    >>> embedder = TableEmbedder(recipe, {"": Vocabulary(["dog", "cat"])})
    >>> model = polyglance.Model(recipe, embedder, feature_dim=4, languages=["en"])
    >>> with TemporaryDirectory() as folder:
    ...     manifest = polyglance.export(model, f"{folder}/exported", precision="int8")
    ...     polyglance.load(f"{folder}/exported").encode_text(["dog"]).shape
    (1, 16)
    >>> manifest.dim, manifest.languages, manifest.precision
    (16, ['en'], 'int8')
    """
    target = Path(out)
    check_new(target)
    if precision not in ("fp32", "fp16", "int8"):
        raise PolyglanceError(f"precision '{precision}': must be fp32, fp16 or int8")
    trained_on = ""
    if not isinstance(model, Model):
        folder = model_folder(model)
        trained_on, model = origin_of_run(folder), Model.load(folder)
    network, bits = portable_network(model), table_bits or BITS[precision]
    embedder, sentence = model.embedder, network.text
    if isinstance(sentence, SentenceTower):
        towers = {}
        if pieces is not None:
            assert isinstance(embedder, SubwordEmbedder)
            embedder = embedder.prune_pieces(pieces, texts, cache)
    else:
        _check_words(model, table_bits, pieces)
        towers = portable_towers(model)
    with staged(target, replace=False) as folder:
        writer = _Writer(folder, model.recipe.name, precision)
        files: dict[str, TowerFiles | SentenceFiles] = {
            code: writer.tower(code, tower) for code, tower in towers.items()
        }
        if isinstance(sentence, SentenceTower):
            files[""] = writer.sentence(network, sentence, embedder, bits)
        images = writer.images(model, network)
        prepared, reason = writer.image_network(model, cache_dir(cache))
        if whole:
            prepared = _with_whole(model, prepared)
        if prepared is not None:
            write_json(folder / SETTINGS, prepared.model_dump(mode="json"))
        embedder.portable().save(folder / EMBEDDER)
        manifest = Manifest(
            version=__version__,
            recipe_name=model.recipe.name,
            dim=model.dim,
            similarity=model.similarity_name,
            languages=model.languages,
            drawings=model.drawings,
            precision=precision,
            feature=model.recipe.image.feature,
            feature_dim=model.feature_dim,
            images=images,
            preparation=prepared,
            without_backbone=reason,
            towers=files,
            pivots=model.embedder.pivots,
            recipe=model.recipe.model_dump(mode="json"),
            trained_on=trained_on,
            files=file_digests(folder),
        )
        manifest = manifest.model_copy(update={"id": manifest.digest()})
        write_json(folder / FILE, manifest.model_dump(mode="json"))
    return manifest


def check_new(target: Path) -> None:
    """Raise an error unless an output folder is new or empty."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PolyglanceError(f"{target}: already exists and is not empty; choose another folder")


class _Writer:
    """Graphs of one model, written into a folder."""

    def __init__(self, folder: Path, name: str, precision: Precision) -> None:
        self.folder, self.name, self.precision = folder, name, precision

    def tower(self, code: str, tower: PortableTower) -> TowerFiles:
        """Write a text tower; `code` is its language, or empty."""
        suffix = f"-{code}" if code else ""
        text, unseen, columns = f"text{suffix}.onnx", None, []
        axes: dict[str, dict[int, str]] = {
            "words": {0: "batch", 1: "length"},
            "lengths": {0: "batch"},
        }
        if tower.unseen is not None:
            unseen, columns = f"words{suffix}.onnx", list(tower.unseen.example(1))
            counts = [example[0] for example in SHAPES]
            examples = [tower.unseen.example(count) for count in counts]
            free = {name: {0: "batch"} for name in columns}
            self._write(unseen, to_onnx(self.name, tower.unseen, examples, free))
            axes["unseen"] = {0: "unseen"}
        texts = [_text_example(tower, *shape) for shape in SHAPES]
        self._write(text, to_onnx(self.name, tower.graph, texts, axes))
        return TowerFiles(
            text=text, rows=tower.ranges, word_dim=tower.word_dim, unseen=unseen, columns=columns
        )

    def sentence(
        self, network: TwoTower, tower: SentenceTower, embedder: Embedder, bits: Bits
    ) -> SentenceFiles:
        """Write a sentence encoder with its tables; of pieces, those that the embedder has."""
        assert isinstance(embedder, SubwordEmbedder)
        assert embedder.pieces is not None
        ids = torch.from_numpy(embedder.pieces.ids.astype("int64"))
        table, words = tower.encoder.pieces, tower.words
        with torch.no_grad():
            vectors, spacing = table(ids).numpy(), table.scale[ids % len(table.scale)].numpy()
        tensors = store_table("pieces", vectors, bits, spacing)
        files = SentenceFiles(
            text="text.onnx",
            tables="tables.safetensors",
            bits=bits,
            piece_dim=vectors.shape[1],
            word_dim=0 if words is None else words.dim,
        )
        axes: dict[str, dict[int, str]] = {
            "pieces": {0: "batch", 1: "length"},
            "lengths": {0: "batch"},
        }
        if words is not None:
            tensors |= store_table("words", words.weight.detach().numpy(), bits)
            axes["words"] = {0: "batch"}
        write_tensors(self.folder / files.tables, tensors)
        graph = SentenceGraph(network, tower)
        self._write(files.text, to_onnx(self.name, graph, _sentence_examples(files), axes))
        return files

    def images(self, model: Model, network: TwoTower) -> dict[str, str]:
        """Write the image tower; for both forms if features are imported, as theirs is unknown."""
        feature = model.recipe.image.feature
        imported = feature.startswith("imported/")
        form = "" if imported else parse_feature(feature)[1]
        graph, found = ImageGraph(network), {}
        if not form.startswith("grid") and network.image.attention is None:
            examples = [{"features": torch.randn(n, model.feature_dim)} for n, _ in SHAPES]
            found["global"] = "image.onnx"
            axes: dict[str, dict[int, str]] = {"features": {0: "batch"}}
            self._write(found["global"], to_onnx(self.name, graph, examples, axes))
        if imported or form.startswith("grid"):
            found["set"] = "image-sets.onnx"
            axes = {"features": {0: "batch", 1: "vectors"}, "lengths": {0: "batch"}}
            sets = [_set_example(model.feature_dim, *shape) for shape in SHAPES]
            self._write(found["set"], to_onnx(self.name, graph, sets, axes))
        return found

    def image_network(self, model: Model, cache: Path) -> tuple[Preparation | None, str]:
        """Write the image network; its preprocessing, or the reason why there is none."""
        own = model.network.image.backbone
        if own is not None:
            return self.trained_backbone(own), ""
        return self.backbone(model.recipe.image.feature, cache)

    def backbone(self, feature: str, cache: Path) -> tuple[Preparation | None, str]:
        """Write the backbone; its preprocessing, or the reason why there is none."""
        if feature.startswith("imported/"):
            return None, f"its features, '{feature}', are not computed from images"
        extractor, form = parse_feature(feature)
        if form.startswith("tencrop"):
            return None, f"'{feature}' uses ten crops, which are not exported"
        if extractor.startswith(f"{FAMILY}:"):
            exported = open_onnx(extractor.removeprefix(f"{FAMILY}:"))
            (self.folder / BACKBONE).write_bytes(exported.to_onnx())  # already stored in few bits
            return _preparation(exported.preprocessing), ""
        if extractor not in backbones:
            return None, f"'{extractor}' is a network of another package, which is not exported"
        network = LiteBackbone(backbones.get(extractor), cache)
        self._write(BACKBONE, network.to_onnx())
        return _preparation(network.preprocessing), ""

    def trained_backbone(self, network: ImageNetwork) -> Preparation:
        """Write the image network in the tower; its preprocessing."""
        size = network.preprocessing.size
        examples = [{"pixels": torch.randn(count, 3, size, size)} for count in (2, 1)]
        axes: dict[str, dict[int, str]] = {"pixels": {0: "batch"}}
        graph = to_onnx(self.name, GridGraph(network), examples, axes, TOLERANCE)
        self._write(BACKBONE, graph)
        return _preparation(network.preprocessing)

    def _write(self, name: str, model: bytes) -> None:
        with atomic(self.folder / name) as handle:
            handle.write(store_as(model, self.precision))


def _preparation(preprocessing: Preprocessing) -> Preparation:
    values = {field.name: getattr(preprocessing, field.name) for field in fields(Preprocessing)}
    return Preparation(**values, whole=preprocessing.whole)


def _with_whole(model: Model, prepared: Preparation | None) -> Preparation:
    if prepared is None or parse_feature(model.recipe.image.feature)[1] != "global":
        raise PolyglanceError(
            f"'{model.recipe.name}' has image.feature={model.recipe.image.feature}: the whole "
            "image and its centre can be used together only by a network that computes one vector"
        )
    return prepared.model_copy(update={"whole": True, "squash": False})


def _check_words(model: Model, table_bits: Bits | None, pieces: int | None) -> None:
    if table_bits is not None or pieces is not None:
        kind = model.recipe.text.encoder.kind
        raise PolyglanceError(
            f"'{model.recipe.name}' has text.encoder.kind={kind}: table bits and pieces apply to "
            "sentence encoders only; other tables are stored in the given precision"
        )


def _sentence_examples(files: SentenceFiles) -> list[Mapping[str, Tensor]]:
    found: list[Mapping[str, Tensor]] = []
    for texts, pieces in SHAPES:
        example = {
            "pieces": torch.randn(texts, pieces, files.piece_dim),
            "lengths": _lengths(texts, pieces),
        }
        words = {"words": torch.randn(texts, files.word_dim)} if files.word_dim else {}
        found.append(example | words)
    return found


def _lengths(count: int, longest: int) -> Tensor:
    return longest - torch.arange(count) % longest


def _text_example(tower: PortableTower, texts: int, words: int) -> Mapping[str, Tensor]:
    known, new = len(tower.graph.table), 0 if tower.unseen is None else words
    example = {
        "words": torch.randint(0, known + new, (texts, words)),
        "lengths": _lengths(texts, words),
    }
    if new:
        example["unseen"] = torch.randn(new, tower.word_dim)
    return example


def _set_example(dim: int, images: int, vectors: int) -> Mapping[str, Tensor]:
    return {"features": torch.randn(images, vectors, dim), "lengths": _lengths(images, vectors)}
