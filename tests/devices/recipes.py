"""Every packaged recipe in a size that trains in a moment, with the files that it asks for."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.data.role_graphs import FILE
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.training import Callback, Result, Trainer, train
from polyglance.training.steps import StepOutcome
from tests.conftest import TOY, WORDS, write_toy

IMAGES = 48
SMALL = [
    *TOY,
    "training.batch_size=12",
    "training.updates=2",
    "training.evaluate_every=1",
    "training.collapse=warn",
    "image.head.hidden=12",
    "text.embedder.layers=[12, 10]",
    "text.embedder.char_dim=6",
    "text.embedder.word_length=8",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=4",
    "text.embedder.frequent=4",
    "text.embedder.rare.assignment.updates=2",
    "text.embedder.rare.tokens=12",
    "text.embedder.rare.assignment.candidates=3",
    "text.embedder.buckets=50",
    "text.encoder.heads=2",
    "text.encoder.head_dim=4",
    "sampling.pretrain_epochs=0",
    "sampling.pretrain_updates=0",
]
NOT_GLOBAL = ("hgr", "hgr-gpo", "vsrn", "imram", "scan-i2t", "scan-t2i")


@dataclass(frozen=True)
class World:
    """Datasets of global features and of sets, and files that some recipes name."""

    folder: Path
    bert: Path | None = None

    def recipe(self, name: str, *changes: str) -> Recipe:
        """A packaged recipe, small."""
        own = {
            "liwe-glove": [f"text.embedder.vectors={self.folder / 'glove.txt'}"],
            "dictionary": [
                f"text.embedder.lexicon={self.folder / 'lexicon'}",
                "text.embedder.frequent_count=3",
            ],
            "vse-infinity-bert": [f"text.encoder.pretrained={self.bert}"],
            "vsrn": ["captioning.hidden=12", "captioning.word_dim=8"],
            "cvse": ["consensus.concepts=6"],
            "translator": ["text.embedder.word_dim=12"],
        }
        if name == "polyglance-base":  # what it reads beside captions are files of its own
            own[name] = ["data.more=[]", "image.head.kind=linear", "naming=null"]
            own[name] += ["image.backbone=null"]
            own[name] += ["sampling.text_files=[]", "sampling.text_only=false"]
            own[name] += ["sampling.beside=null", "text.embedder.piece_texts=[]"]
        if name.startswith("hgr"):
            own[name] = ["data.languages=[en]"]
        if name.startswith("kadar-multilingual"):
            own[name] = ["data.languages=[en, de]"]
        if name.endswith("-e2e"):
            form = load_recipe(name).image.feature.rpartition("/")[2]
            own[name] = [f"image.feature=efficientnet-lite0/{form}", "data.languages=[en]"]
            own[name] += ["image.backbone.input_size=32", "image.backbone.frozen_epochs=0"]
        small = [*SMALL, *own.get(name, []), *changes]
        recipe = load_recipe(name, parse_overrides(small), shared=True)
        rates = recipe.training.multipliers
        rates = {part: rate for part, rate in rates.items() if part != "image.classes"}
        training = recipe.training.model_copy(update={"multipliers": rates})
        return recipe.model_copy(update={"training": training})

    def data(self, name: str) -> Path:
        """Global features, or sets for the recipes that pool."""
        if name.endswith("-e2e"):
            return self.folder / "images"
        recipe = load_recipe(name)
        alone = recipe.image.feature.endswith("/global") and name not in NOT_GLOBAL
        return self.folder / ("global" if alone else "set")


def make_world(folder: Path, bert: Path | None = None) -> World:
    """Write the files."""
    for form in ("global", "set"):
        data = write_toy(folder / form, IMAGES, form)
        texts = set(load_dataset(data).captions(["en"]).texts)
        (data / FILE).write_text(json.dumps({text: _graph(text) for text in texts}))
    _write_images(folder / "images")
    rows = [" ".join([word, *map(str, range(3))]) for group in WORDS["en"] for word in group]
    (folder / "glove.txt").write_text("\n".join(rows) + "\n")
    (folder / "lexicon").mkdir()
    both = ([word for group in WORDS[code] for word in group] for code in ("de", "en"))
    pairs = zip(*both, strict=True)
    (folder / "lexicon" / "de-en.txt").write_text("".join(f"{a} {b}\n" for a, b in pairs))
    return World(folder, bert)


def _write_images(folder: Path) -> None:
    (folder / "images").mkdir(parents=True)
    rows = []
    for number, word in enumerate(WORDS["en"][0] * 5):
        image = Image.new("RGB", (40, 48), (60 * (number % 4), 90, 10 * number))
        image.save(folder / "images" / f"{number:02}.png")
        captions = {"en": {"independent": [f"a {word} image {number % 7}"]}}
        rows.append(CaptionedImage(f"{number:02}.png", "train" if number < 16 else "val", captions))
    save_folder(folder, rows)


def _graph(sentence: str) -> list[object]:
    words = sentence.split()
    nodes: dict[str, object] = {"0": {"role": "ROOT", "spans": list(range(len(words)))}}
    nodes["1"] = {"role": "V", "spans": [len(words) - 1]}
    nodes["2"] = {"role": "ARG0", "spans": [len(words) - 2]}
    return [nodes, [["0", "1"], ["1", "2", "ARG0"]]]


@dataclass
class Record(Callback):
    """Losses of all updates, and the gradients of the first."""

    losses: list[float] = field(default_factory=list)
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        self.losses.append(float(outcome.loss.detach()))
        for part, module in trainer.step.modules.items():
            for name, parameter in module.named_parameters():
                self.devices.add(str(parameter.device))
                if len(self.losses) == 1 and parameter.grad is not None:
                    grad = parameter.grad
                    grad = grad.to_dense() if grad.is_sparse else grad
                    self.gradients[f"{part}.{name}"] = grad.cpu().clone()


def trained(
    world: World, name: str, out: Path, device: str, changes: Sequence[str] = (), **how: Any
) -> tuple[Record, Result]:
    """Train a small form of a recipe on a device, and what it was like.

    Args:
        world: data and files.
        name: of the recipe.
        out: the run's folder.
        device: to train on.
        changes: as `--set` takes them.
        how: more arguments of `train`; by default, all trainings share a cache.
    """
    record = Record()
    result = train(
        world.recipe(name, *changes),
        load_dataset(world.data(name)),
        out,
        show_progress=False,
        callbacks=[record],
        device=device,
        **({"cache": world.folder / "cache"} | how),
    )
    return record, result
