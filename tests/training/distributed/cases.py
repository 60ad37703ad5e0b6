"""Trainings that must come out the same of one process and of two."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import save_file
from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from polyglance.training import Callback, Trainer
from polyglance.training.steps import StepOutcome
from tests.conftest import TOY
from tests.training.beside import SUBWORDS
from tests.training.coloured import SMALL
from tests.training.runs import run

FEW = ["training.updates=5", "training.evaluate_every=999", "training.lr=0.001"]
DRY = ["text.word_dropout=0", "text.dropout=0", "image.dropout=0", "image.output_dropout=0"]
"""Dropout is drawn by every process for itself."""
CHARACTERS = [
    "image.attention=false",
    "text.embedder.layers=[12, 10]",
    "text.embedder.char_dim=6",
    "text.embedder.word_length=10",
]
UNIVERSAL = [
    "image.head.hidden=16",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=4",
    "sampling.pretrain_epochs=0",
]
LATENT = [
    "text.embedder.frequent=4",
    "text.embedder.rare.assignment.updates=20",
    "text.embedder.rare.tokens=12",
    "text.embedder.rare.assignment.candidates=3",
]
FILES = [*SMALL, "text.embedder.min_count=1", "training.epochs=auto"]
KEEP = [
    "image.head.kind=classes",
    "image.backbone.views=2",
    "image.backbone.train=last",
    "image.backbone.frozen_epochs=0",
    "image.backbone.multiplier=1",
    "image.backbone.keep=100",
]


EPS = 1e-3
"""Adam's epsilon in these trainings: with its default, 1e-8, an element whose gradient is 0 but for
rounding takes a step as long as any other, in a direction that depends on the processor."""


class Case(NamedTuple):
    """A recipe with changes, on a dataset: images of one vector, sets of vectors, or files."""

    recipe: str
    changes: Sequence[str] = ()
    sets: bool = False
    small: Sequence[str] = TOY
    files: bool = False

    @property
    def source(self) -> str:
        """Name of the dataset."""
        return "files" if self.files else "sets" if self.sets else "toy"

    @property
    def overrides(self) -> list[str]:
        """As `--set` takes them."""
        return [*DRY, *FEW, *self.changes]


CASES = {
    "sum": Case("vse0"),
    "max": Case("vsepp", ["loss.warmup_updates=2", "loss.mask_same_image=true"]),
    "mixed": Case("liwe", [*CHARACTERS, "loss.warmup_updates=2"], sets=True),
    "infonce": Case("nce", ["augment.word_drop=0.3", "loss.mask_same_image=true"]),
    "hashed": Case(
        "vsepp",
        ["text.embedder.kind=subwords", "text.embedder.buckets=300"],
        small=[change for change in TOY if "min_count" not in change],
    ),
    "order": Case("order", ["training.clip=0.1"]),
    "c2c": Case(
        "vsepp",
        [
            "sampling.kind=languages",
            "sampling.c2c=0.6",
            "text.towers=per-language",
            "compat.c2c_lengths=true",
        ],
    ),
    "joint": Case("liwe-joint", [*CHARACTERS, "loss.warmup_updates=1"], sets=True),
    "triplets": Case("nce", ["loss.kind=triplets", "loss.top=3"]),
    "tuples": Case("mule", [*UNIVERSAL, "sampling.pretrain_updates=2"]),
    "masked": Case("smalr", [*UNIVERSAL, *LATENT]),
    "batch-norm": Case(
        "vse-infinity",
        ["image.head.hidden=12", "text.pooling=mean"],
        sets=True,
    ),
    "reasoning": Case(
        "vsrn",
        ["captioning.hidden=8", "captioning.word_dim=8", "captioning.dropout=0"],
        sets=True,
    ),
    "consensus": Case(
        "cvse",
        sets=True,
    ),
    # Pairs of texts, and 3 named things, which two processes share unevenly, come beside.
    "images": Case(
        "vsepp",
        [
            "sampling.kind=images",
            "sampling.captions=2",
            "sampling.c2c_weight=0.5",
            "sampling.text_files=[DATA/texts.jsonl.gz]",
            "sampling.text_weight=0.25",
            "sampling.beside.data=DATA/things",
            "sampling.beside.weight=0.75",
            "loss.kind=infonce",
            "loss.temperature=0.1",
            "augment.word_drop=0.3",
        ],
        small=SUBWORDS,
    ),
    "attention": Case("imram", ["augment.vector_drop=0.3"], sets=True),
    # The last of 15 batches has one caption, which two processes cannot share.
    "one-left": Case(
        "vsepp",
        [
            "data.languages=[en]",
            "data.captions_per_image=1",
            "data.images=113",
            "image.head.kind=bn-mlp",
            "image.head.hidden=12",
            "training.batch_size=8",
            "training.updates=15",
        ],
    ),
    "end-to-end": Case(
        "nce-e2e",
        ["image.backbone.frozen_epochs=0", "image.backbone.multiplier=1"],
        small=FILES,
        files=True,
    ),
    # Captions of one image are in the shares of both processes.
    "keep": Case("nce-e2e", KEEP, small=FILES, files=True),
    "keep-images": Case(
        "nce-e2e",
        [
            *KEEP,
            "sampling.kind=images",
            "sampling.captions=2",
        ],
        small=FILES,
        files=True,
    ),
}


class Records(Callback):
    """Keeps the losses of all updates, and the gradients of the first and the last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.losses: list[list[float]] = []
        self.gradients: dict[str, Tensor] = {}

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        self.losses.append([float(outcome.loss.detach()), outcome.collapsed, outcome.deviation])
        if trainer.done.update in (1, trainer.updates):
            for part, module in trainer.step.modules.items():
                for name, parameter in module.named_parameters():
                    if parameter.grad is not None:
                        place = f"{trainer.done.update} {part}.{name}"
                        self.gradients[place] = parameter.grad.to_dense().clone()

    def on_stop(self, trainer: Trainer) -> None:
        kept = [self.losses, trainer.done.evaluations]
        self.path.with_suffix(".json").write_text(json.dumps(kept))
        save_file(self.gradients, self.path.with_suffix(".safetensors"))


def _set_eps(optimizer: Optimizer, *_: Any) -> None:
    for group in optimizer.param_groups:
        group["eps"] = EPS


@contextmanager
def steady() -> Iterator[None]:
    """Inside the block, optimizers do not turn rounding errors of gradients into full steps."""
    handle = register_optimizer_step_pre_hook(_set_eps)
    try:
        yield
    finally:
        handle.remove()


def train_cases(data: Path, out: Path, names: Sequence[str], rank: int = 0) -> None:
    """Train cases into folders of `out` that bear their names; records are kept beside them.

    Args:
        data: holds the datasets `toy`, `sets` and `files`.
        out: of the runs.
        names: of the cases.
        rank: of this process, part of the names of files.
    """
    out.mkdir(exist_ok=True)
    for name in names:
        case = CASES[name]
        records = Records(out / f"{name}-{rank}")
        with steady():
            run(
                data / case.source,
                out / name,
                *(change.replace("DATA", str(data)) for change in case.overrides),
                recipe=case.recipe,
                callbacks=[records],
                small=case.small,
            )
