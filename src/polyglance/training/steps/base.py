"""Steps: from a batch to its loss, the part of training that differs between systems."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from torch import Tensor, nn

from polyglance.core.registry import Registry
from polyglance.models import Model
from polyglance.numerics.precision import autocast
from polyglance.training.distributed import SINGLE, Share, World
from polyglance.training.inputs.data import TrainingData


class StepOutcome(NamedTuple):
    """A loss, its value for a collapsed model, and the standard deviation of the scores."""

    loss: Tensor
    collapsed: float
    deviation: float


class Step(ABC):
    """Computes the losses of a sampler's batches; `modules` are saved and trained.

    A step that `splits` computes its loss on a whole batch, of which each process embeds a share.
    """

    unit: str
    model: Model
    modules: dict[str, nn.Module]
    splits = False
    world: World = SINGLE
    decodes: bool = False
    """Whether `prepare` decodes images, which is done ahead in threads."""

    def prepare(self, update: int, batch: Any) -> Any:
        """The input of `outcome` for the sampler's batch of update number `update`.

        It reads features and draws augmentations depending on `update` only, so any thread may
        call it, in any order. Tensors in tuples, lists and dicts are moved to the model's device.
        """
        return batch

    def thaw(self, update: int) -> None:  # noqa: B027  (most steps freeze nothing)
        """Called before `outcome` of update number `update`, to freeze or unfreeze parameters."""

    @abstractmethod
    def outcome(self, update: int, prepared: Any) -> StepOutcome:
        """The loss for the result of `prepare` for update number `update`."""

    @abstractmethod
    def size(self, batch: Any) -> int:
        """Size of a batch, in `unit`s."""

    def autocast(self) -> AbstractContextManager[Any]:
        """Context for computing the towers in the recipe's precision; losses are in float32."""
        return autocast(self.model.recipe.training.precision, self.model.device)

    def declare_share(self, part: Share) -> None:
        """Declare which rows are embedded next: batch norms use those of all processes."""
        self.world.replicated = not part.sizes

    def evaluable(self, update: int) -> bool:
        """Whether evaluating the model after `update` updates makes sense."""
        return True


steps: Registry[Callable[[Model, TrainingData, Any], Step]] = Registry("step")
"""By `sampling.kind`."""
