"""How a batch becomes a loss: the part of training that differs between families of systems."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

from polyglance.core.registry import Registry
from polyglance.models import Model
from polyglance.training.distributed import ALONE, Share, Team
from polyglance.training.inputs.data import TrainingData


class StepOutcome(NamedTuple):
    """A loss, what it would be of a collapsed model, and the deviation of the scores."""

    loss: Tensor
    collapsed: float
    deviation: float


class Step(ABC):
    """Losses of a sampler's batches; `modules` are saved and trained.

    A step that `splits` makes its loss of a whole batch of which each process embeds a share.
    """

    unit: str
    modules: dict[str, nn.Module]
    splits = False
    team: Team = ALONE
    decodes: bool = False
    """Whether `prepare` decodes images, which threads then do ahead."""

    def prepare(self, update: int, batch: Any) -> Any:
        """What `outcome` takes, made of what the sampler gives for update number `update`.

        It reads features and draws augmentations, by `update` alone: any thread may do it, in any
        order. Tensors in tuples, lists and dicts are brought to the model's device.
        """
        return batch

    def thaw(self, update: int) -> None:  # noqa: B027  (most steps freeze nothing)
        """Called before the outcome of update number `update`: what is frozen may change here."""

    @abstractmethod
    def outcome(self, update: int, prepared: Any) -> StepOutcome:
        """The loss of what `prepare` gives for update number `update`."""

    @abstractmethod
    def size(self, batch: Any) -> int:
        """How many `unit` a batch has."""

    def begin(self, part: Share) -> None:
        """Say which rows are embedded next: batch norms count those of all processes."""
        self.team.whole = not part.sizes

    def evaluable(self, update: int) -> bool:
        """Whether the model means anything after `update` updates."""
        return True


steps: Registry[Callable[[Model, TrainingData, Any], Step]] = Registry("step")
"""By `sampling.kind`."""
