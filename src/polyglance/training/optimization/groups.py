"""Separate learning rates for parts of a network."""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.models import Model


def check_multipliers(network: nn.Module, multipliers: Mapping[str, float]) -> None:
    """Raise if a multiplier's prefix matches no parameter of the network."""
    names = [name for name, _ in network.named_parameters()]
    for prefix in multipliers:
        if not any(_begins(name, prefix) for name in names):
            raise PolyglanceError(
                f"training.multipliers: no parameter begins with '{prefix}'"
                f"{nearest(prefix, _prefixes(names))}"
            )


def all_multipliers(model: Model) -> dict[str, float]:
    """The recipe's multipliers, followed by those of an image network in the tower."""
    network = model.network.image.backbone
    own = {} if network is None else network.multipliers
    own = {f"image.backbone.{part}".rstrip("."): value for part, value in own.items()}
    return own | model.recipe.training.multipliers


def parameter_groups(
    modules: Mapping[str, nn.Module], multipliers: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Parameter groups for an optimizer, each with its learning rate `multiplier`.

    Keys of `multipliers` are prefixes of parameter names of `modules["model"]`, ending at a dot;
    the longest match counts. Parameters without a match have the multiplier 1 and come first.
    """
    groups: dict[str, list[nn.Parameter]] = {"": []}
    for key, module in modules.items():
        for name, parameter in module.named_parameters():
            fits = [p for p in multipliers if key == "model" and _begins(name, p)]
            if parameter.requires_grad:
                groups.setdefault(max(fits, key=len, default=""), []).append(parameter)
    return [
        {"params": found, "multiplier": multipliers.get(prefix, 1.0)}
        for prefix, found in groups.items()
        if found
    ]


def _begins(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def _prefixes(names: Iterable[str]) -> list[str]:
    """All prefixes of parameter names: image, image.head, …

    >>> _prefixes(["image.head.weight"])
    ['image', 'image.head', 'image.head.weight']
    """
    parts = {
        ".".join(steps[:end])
        for steps in (name.split(".") for name in names)
        for end in range(1, len(steps) + 1)
    }
    return sorted(parts)
