"""The image network as part of the tower: from pixels to what a feature store would contain."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import BackboneRecipe, ImageRecipe, Recipe
from polyglance.vision.extraction.features import parse_feature
from polyglance.vision.extraction.image_files import ImageFiles
from polyglance.vision.networks.architectures import (
    architecture,
    depthwise,
    norms,
    published_preprocessing,
)
from polyglance.vision.networks.preprocess import CentreAndWhole, Preprocessing

FIELDS = ("input_size", "crop", "mean", "std", "interpolation")
"""Fields of a recipe's backbone that override the network's preprocessing."""
PUBLISHED = {"input_size": "size"}
"""Their names in `Preprocessing`, if different."""


class ImageNetwork(nn.Module):
    """Stages that each halve the grid, frozen or trained; batch norms are always frozen."""

    pixel_mean: Tensor
    pixel_std: Tensor

    def __init__(self, recipe: ImageRecipe, settings: BackboneRecipe) -> None:
        super().__init__()
        self.name, self.form = parse_feature(recipe.feature)
        self.settings, self.preprocessing = settings, preprocessing_of(settings, self.name)
        self.architecture = architecture(self.name)
        self.dim, self.cells = self.architecture.dim, self._cells()
        self.stages = nn.ModuleList(self.architecture.build())
        fixed = [*norms(list(self.stages))]
        if not settings.depthwise:
            fixed += depthwise(list(self.stages))
        self._fixed = {id(parameter) for parameter in fixed}
        for name in ("mean", "std"):
            values = torch.tensor(getattr(self.preprocessing, name)).view(3, 1, 1)
            self.register_buffer(f"pixel_{name}", values, persistent=False)
        first = {"none": len(self.stages), "last": len(self.stages) - 1, "all": 0}
        self._freeze(first[settings.train])
        self.eval()

    def files(
        self,
        feature: str,
        paths: list[Path],
        problems: list[tuple[Path, str]],
        cache: Path | None = None,
    ) -> ImageFiles:
        """Files as input of this network.

        Args:
            feature: that it computes from them.
            paths: of the files.
            problems: files that cannot be decoded, and why.
            cache: folder for views; None is the XDG cache.
        """
        side = self.form.removeprefix("grid")
        cells = None if side == "global" else int(side or self.cells) ** 2
        return ImageFiles(feature, paths, self.preprocessing, self.dim, cells, problems, cache)

    def _cells(self) -> int:
        """Side length of the grid; one too coarse for the form is an error."""
        size, side = self.preprocessing.size, self.form.removeprefix("grid")
        cells = self.architecture.cells(size)
        if side.isdecimal() and int(side) > cells:
            raise PolyglanceError(
                f"image.feature={self.name}/{self.form}: the grid of an image of {size} pixels is "
                f"only {cells}×{cells}; set image.backbone.input_size={32 * int(side)}"
            )
        return cells

    def load_pretrained(self) -> None:
        """Load the weights that the network was published with."""
        self.architecture.load(list(self.stages))

    def train(self, mode: bool = True) -> "ImageNetwork":
        """Stay in evaluation mode: batch norm statistics are frozen, and there is no dropout."""
        return super().train(False)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """uint8 [B, S, S, 3] → ([B, F],), or ([B, K, F], lengths [B]) for a grid.

        The vectors of images with several parts, [B, V, S, S, 3], are averaged.
        """
        flat = images.flatten(0, -4)
        size = self.settings.chunk or max(1, len(flat))
        found = self.shaped(torch.cat([self._part(part) for part in flat.split(size)]))
        if images.dim() == 4:
            return found
        return (found[0].unflatten(0, images.shape[:2]).mean(1),)

    def shaped(self, grid: Tensor) -> tuple[Tensor, ...]:
        """A grid [B, F, h, w] in the form of the feature."""
        if self.form == "global":
            return (grid.mean((2, 3)),)
        if side := self.form.removeprefix("grid"):
            grid = functional.adaptive_avg_pool2d(grid, int(side))
        lengths = torch.full((len(grid),), grid[0, 0].numel(), device=grid.device)
        return grid.flatten(2).transpose(1, 2), lengths

    def grid(self, pixels: Tensor, first: int = 0) -> Tensor:
        """Standardised pixels [B, 3, S, S], or the input of stage `first` → [B, F, h, w]."""
        for stage in list(self.stages)[first:]:
            pixels = stage(pixels)
        return pixels

    def at_stages(
        self, found: Tensor, done: int, boundaries: Sequence[int]
    ) -> Iterator[tuple[int, Tensor]]:
        """Outputs of the first stages, for each number of stages in `boundaries`.

        After all stages it is the input of `shaped`: averaged if the feature is a mean.

        Args:
            found: output of the first `done` stages; for 0, of `standardised`.
            done: stages already applied.
            boundaries: numbers of stages, ascending, none less than `done`.
        """
        for boundary in boundaries:
            with torch.no_grad():
                for stage in list(self.stages)[done:boundary]:
                    found = stage(found)
            done = boundary
            pooled = boundary == len(self.stages) and self.form == "global"
            yield boundary, found.mean((2, 3), keepdim=True) if pooled else found

    def standardised(self, images: Tensor) -> Tensor:
        """uint8 [B, S, S, 3] → float32 [B, 3, S, S], the input of the first stage."""
        return (images.permute(0, 3, 1, 2).float() - self.pixel_mean) / self.pixel_std

    def _part(self, images: Tensor) -> Tensor:
        pixels = self.standardised(images)
        first = self.frozen_stages
        with torch.no_grad():
            for stage in list(self.stages)[:first]:
                pixels = stage(pixels)
        if self.settings.chunk is None or not torch.is_grad_enabled() or first == len(self.stages):
            return self.grid(pixels, first)
        found = checkpoint(self.grid, pixels, first, use_reentrant=False, preserve_rng_state=False)
        assert isinstance(found, Tensor)
        return found

    @property
    def frozen_stages(self) -> int:
        """Number of first stages without trainable parameters now."""
        found = (
            number
            for number, stage in enumerate(self.stages)
            if any(parameter.requires_grad for parameter in stage.parameters())
        )
        return next(found, len(self.stages))

    def _freeze(self, first: int) -> None:
        for number, stage in enumerate(self.stages):
            for parameter in stage.parameters():
                parameter.requires_grad = number >= first and id(parameter) not in self._fixed

    def frozen_at(self, epoch: int) -> int:
        """Number of first stages without trainable parameters in an epoch."""
        total = len(self.stages)
        first = {"none": total, "last": total - 1, "all": 0}[self.settings.train]
        since = epoch - self.settings.frozen_epochs
        waits = (
            (total - 1 - number) * self.settings.stage_epochs for number in range(first, total)
        )
        return next((first + n for n, wait in enumerate(waits) if since >= wait), total)

    def thaw(self, epoch: int, trainable: set[int]) -> None:
        """Unfreeze what the recipe's schedule trains in an epoch.

        Args:
            epoch: from 0.
            trainable: ids of the parameters that may be trained at all.
        """
        since = epoch - self.settings.frozen_epochs
        for number, stage in enumerate(self.stages):
            waits = (len(self.stages) - 1 - number) * self.settings.stage_epochs
            for parameter in stage.parameters():
                parameter.requires_grad = id(parameter) in trainable and since >= waits

    @property
    def multipliers(self) -> dict[str, float]:
        """Learning rate factors by prefix of the parameters' names in a tower."""
        lower, last = self.settings.lower_multiplier, self.settings.multiplier
        return {"": lower, f"stages.{len(self.stages) - 1}": last}


def preprocessing_of(settings: BackboneRecipe, name: str) -> Preprocessing:
    """The preprocessing of a network: the recipe's fields, else as published."""
    given = {field: getattr(settings, field) for field in FIELDS}
    if None in given.values():
        own = published_preprocessing(name)
        given = {
            field: getattr(own, PUBLISHED.get(field, field)) if value is None else value
            for field, value in given.items()
        }
    kind = CentreAndWhole if settings.whole else Preprocessing
    return kind(size=given.pop("input_size"), squash=settings.squash, **given)


def resolved(recipe: Recipe) -> Recipe:
    """The recipe with the preprocessing of an external network filled in.

    The file of the weights, which may define it, is not available when the model is loaded.
    """
    settings = recipe.image.backbone
    name, _ = parse_feature(recipe.image.feature) if settings is not None else ("", "")
    if settings is None or ":" not in name:
        return recipe
    preprocessing = preprocessing_of(settings, name)
    found = {field: getattr(preprocessing, PUBLISHED.get(field, field)) for field in FIELDS}
    image = recipe.image.model_copy(update={"backbone": settings.model_copy(update=found)})
    return recipe.model_copy(update={"image": image})


def build_image_network(recipe: ImageRecipe) -> ImageNetwork | None:
    """The network in a recipe's tower, with random weights; None if features are stored."""
    return None if recipe.backbone is None else ImageNetwork(recipe, recipe.backbone)
