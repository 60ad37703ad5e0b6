"""Changes of the package that invalidate some finished runs, and leave all others valid.

A change in the meaning of a recipe is listed here, with the runs that it affects: these get
another key and are run again. A changed default of a recipe field goes into `FORMER_DEFAULTS`.
"""

from collections.abc import Callable
from typing import Any

from polyglance.recipes import Recipe
from polyglance.recipes.schema import DictionaryRare, LatentRare

FORMER_DEFAULTS: dict[str, Any] = {"training.buckets": 50}
"""Field → its default when keys were introduced (`tests/studies/defaults.json`).

A key omits a field with this value, whatever its current default, so that old runs are found by
recipes with the old value, and only by them.
"""


def _rare(kind: type) -> Callable[[Recipe], bool]:
    return lambda recipe: isinstance(getattr(recipe.text.embedder, "rare", None), kind)


def _validates_on_trained_kinds(recipe: Recipe) -> bool:
    data = recipe.data
    return data.validation_kinds is None and data.kinds not in (None, ["independent"])


REVISIONS: dict[str, tuple[int, Callable[[Recipe], bool]]] = {
    # Words of several languages share latent tokens.
    "latent tokens": (1, _rare(LatentRare)),
    # An epoch is a pass over captions; masked modelling is averaged over language pairs.
    "tuples": (1, lambda recipe: recipe.sampling.kind == "tuples"),
    # German nouns in the lexicon are found in lower-cased captions.
    "dictionary": (1, _rare(DictionaryRare)),
    # By default, early stopping evaluates on the kinds trained on.
    "validation": (1, _validates_on_trained_kinds),
}
"""Change → its number of revisions, and whether it affects a recipe."""


def revisions(recipe: Recipe) -> dict[str, int]:
    """The changes that affect a recipe."""
    return {name: number for name, (number, concerns) in REVISIONS.items() if concerns(recipe)}
