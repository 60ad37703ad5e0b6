"""The images of an update: features from a store, or pixels for the image network."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from polyglance.models import Model
from polyglance.models.tensors import read_features
from polyglance.numerics.devices import CPU, pinned
from polyglance.training.distributed.share import mean_weights
from polyglance.training.inputs.augment import Augmenter
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles, ahead, load_training_crop
from polyglance.vision.views import Views

if TYPE_CHECKING:
    from polyglance.training.steps.base import Step

STREAM = 2000
"""Distinct from the streams in training/inputs/augment.py."""
AHEAD = 2
"""Batches decoded ahead."""


class Pixels(NamedTuple):
    """Distinct images of an update: their rows [U], in order, and pixels [U, S, S, 3].

    For stored views: the output of the `first` stages instead, and that of all stages if needed
    for retention, with the images' weights [U] in the mean over the images of all processes.
    """

    rows: np.ndarray
    images: Tensor
    first: int = 0
    original: Tensor | None = None
    weights: Tensor | None = None


class StepImages:
    """Features of the images of an update, from a store.

    Args:
        model: the model to train.
        features: of its images.
        augmenter: drops vectors of sets; None for no augmentation.
    """

    decodes = False
    """Whether preparing a batch is slow enough to be done ahead in threads."""

    def __init__(self, model: Model, features: Features, augmenter: Augmenter | None) -> None:
        self.stored, self.augmenter, self.device = features, augmenter, model.device

    def load_pixels(self, update: int, ranks: Sequence[np.ndarray], rank: int) -> Pixels | None:
        """Pixels of a process's images of an update; None if features are stored.

        Args:
            update: number of the update.
            ranks: the images that each process embeds.
            rank: of this process.
        """
        return None

    def read(
        self, update: int, stream: int, rows: np.ndarray, own: slice, pixels: Pixels | None
    ) -> tuple[Tensor, ...]:
        """The input of `features` for images.

        Args:
            update: number of the update.
            stream: part of the update with random numbers of its own.
            rows: [B], the images.
            own: those that this process embeds.
            pixels: of all images of the update that this process embeds.
        """
        parts = read_features(self.stored, rows[own], self.device)
        if self.augmenter is None:
            return parts
        return self.augmenter.images(update, stream, parts, self.stored.lengths[rows], own)

    def thaw(self, update: int) -> None:
        """Freeze what update number `update` does not train."""

    def run_network(self, pixels: Pixels | None) -> tuple[Tensor, ...]:
        """Output of the network in the tower for all pixels of an update."""
        return ()

    def retention_loss(self, pixels: Pixels | None, outputs: tuple[Tensor, ...]) -> Tensor | None:
        """The weighted loss for changes of the class probabilities; None if not penalised.

        It is this process's part of a mean over the distinct images of all processes: their sum
        is the loss of the update.

        Args:
            pixels: of the images of the update that this process embeds.
            outputs: returned by `run_network`.
        """
        return None

    def features(self, read: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """([B, F],), or ([B, K, F], lengths [B]), in float32.

        Args:
            read: returned by `read`.
            outputs: returned by `run_network`.
        """
        return read[0].float(), *read[1:]


class NetworkImages(StepImages):
    """Images for the network in the tower, which runs once per image and update.

    Args:
        model: the model to train.
        files: its images.
        augmenter: drops cells of grids; None for no augmentation.
        updates_per_epoch: updates per epoch, by which stages are thawed.
        stream: separates the random crops of datasets.
    """

    decodes = True

    def __init__(
        self,
        model: Model,
        files: ImageFiles,
        augmenter: Augmenter | None,
        updates_per_epoch: int,
        stream: int = 0,
    ) -> None:
        network = model.network.image.backbone
        assert network is not None
        self.network, self.files, self.augmenter = network, files, augmenter
        self.seed, self.per_epoch = model.recipe.training.seed, updates_per_epoch
        self.stream = STREAM + stream
        self.trainable = {id(one) for one in network.parameters() if one.requires_grad}

    def load_pixels(self, update: int, ranks: Sequence[np.ndarray], rank: int) -> Pixels | None:
        distinct = np.unique(ranks[rank])
        if not len(distinct):
            return None
        crops = [self._training_crop(update, row) for row in distinct]
        return Pixels(distinct, torch.from_numpy(np.stack(crops)))

    def read(
        self, update: int, stream: int, rows: np.ndarray, own: slice, pixels: Pixels | None
    ) -> tuple[Tensor, ...]:
        assert pixels is not None
        places = torch.from_numpy(np.searchsorted(pixels.rows, rows[own]))
        vectors = self.files.vectors
        if vectors is None:
            return (places,)
        lengths = np.full(len(rows), vectors)
        if self.augmenter is None:
            order, kept = torch.arange(vectors), torch.from_numpy(lengths[own])
        else:
            order, kept = self.augmenter.kept_vectors(update, stream, lengths, own, vectors)
        return places.unsqueeze(1) * vectors + order, kept

    def thaw(self, update: int) -> None:
        self.network.thaw(update // self.per_epoch, self.trainable)

    def run_network(self, pixels: Pixels | None) -> tuple[Tensor, ...]:
        return () if pixels is None else self.network(pixels.images)

    def features(self, read: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        places, *lengths = read
        vectors = outputs[0].flatten(0, -2).index_select(0, places.flatten())
        return vectors.unflatten(0, places.shape).float(), *lengths

    def _training_crop(self, update: int, row: int) -> np.ndarray:
        """An image's crop in this update, independent of the thread that decodes it."""
        rng = np.random.default_rng([self.seed, update, self.stream, int(row)])
        return load_training_crop(
            self.files.paths[row], self.files.preprocessing, self.network.settings, rng
        )


class CachedViewImages(NetworkImages):
    """Images with a few fixed views, stored as the output of the frozen stages."""

    decodes = False

    def __init__(
        self,
        model: Model,
        files: ImageFiles,
        augmenter: Augmenter | None,
        updates_per_epoch: int,
        stream: int = 0,
    ) -> None:
        super().__init__(model, files, augmenter, updates_per_epoch, stream)
        settings, total = self.network.settings, len(self.network.stages)
        self.classes, self.weight = model.network.image.classes, settings.keep
        self.views = Views(self.network, files, self.seed)
        epochs = range(settings.frozen_epochs + total * settings.stage_epochs + 1)
        # All of them now: in a resumed run the last stages may no longer be the original ones.
        self.views.keep(sorted({total, *map(self.network.frozen_at, epochs)}))

    def load_pixels(self, update: int, ranks: Sequence[np.ndarray], rank: int) -> Pixels | None:
        distinct = np.unique(ranks[rank])
        if not len(distinct):
            return None
        # Drawn for all images, so that an image's view does not depend on which process sees it.
        rng = np.random.default_rng([self.seed, update, self.stream])
        views = rng.integers(self.views.count, size=len(self.files))[distinct]
        first = self.network.frozen_at(update // self.per_epoch)
        read = Pixels(distinct, self.views.read(first, distinct, views), first)
        total = len(self.network.stages)
        if not self.weight or first == total:
            return read
        original = self.views.read(total, distinct, views)
        weights = torch.from_numpy(mean_weights(ranks, rank))
        return read._replace(original=original, weights=weights)

    def run_network(self, pixels: Pixels | None) -> tuple[Tensor, ...]:
        if pixels is None:
            return ()
        return self.network.shaped(self.network.grid(pixels.images, pixels.first))

    def retention_loss(self, pixels: Pixels | None, outputs: tuple[Tensor, ...]) -> Tensor | None:
        if pixels is None or pixels.original is None or self.classes is None:
            return None
        before = self.classes.logits(pixels.original.mean((2, 3)))
        now = self.classes.logits(outputs[0].float())
        changes = functional.kl_div(
            now.log_softmax(-1), before.log_softmax(-1), reduction="none", log_target=True
        )
        assert pixels.weights is not None
        return self.weight * (pixels.weights @ changes.sum(-1))


def step_images(
    model: Model,
    features: Features | ImageFiles,
    augmenter: Augmenter | None,
    updates_per_epoch: int,
    stream: int = 0,
) -> StepImages:
    """The source of a training's images.

    Args:
        model: the model to train.
        features: of its images, or their files.
        augmenter: drops vectors of sets; None for no augmentation.
        updates_per_epoch: updates per epoch.
        stream: separates the random crops of datasets.
    """
    if isinstance(features, ImageFiles):
        network = model.network.image.backbone
        assert network is not None
        kind = NetworkImages if network.settings.views is None else CachedViewImages
        return kind(model, features, augmenter, updates_per_epoch, stream)
    return StepImages(model, features, augmenter)


def prepared(
    step: "Step", batches: Iterable[Any], start: int, device: torch.device | None = None
) -> Iterator[tuple[Any, Any]]:
    """Batches, each with its input as prepared by the step.

    Threads work ahead if there is a GPU (into pinned memory) or if images are decoded. The result
    depends on the number of the update only.

    Args:
        step: of the training.
        batches: from the sampler, starting at update number `start`.
        start: number of the first update.
        device: to train on; None is the CPU.
    """
    away = device is not None and device.type != CPU
    pin = away and torch.cuda.is_available()

    def work(item: tuple[int, Any]) -> tuple[Any, Any]:
        read = step.prepare(*item)
        return item[1], pinned(read) if pin else read

    numbered = enumerate(batches, start)
    yield from ahead(numbered, work, AHEAD) if step.decodes or away else map(work, numbered)
