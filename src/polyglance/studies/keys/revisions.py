"""Changes of the package that make some finished runs wrong, and leave all others valid.

A change of what a recipe means is a line here, with the runs that it concerns: these get another
key and are run again. A changed default of a recipe's field goes into `FORMER_DEFAULTS`.
"""

from collections.abc import Callable
from typing import Any

from polyglance.recipes import Recipe
from polyglance.recipes.schema import DictionaryRare, LatentRare

FORMER_DEFAULTS: dict[str, Any] = {"training.buckets": 50}
"""Field → its default when runs were first kept by it (`tests/studies/defaults.json`).

A key leaves a field out where it has this value, whatever the default is today, so that old runs
are found by recipes that say the old value, and only by them.
"""


def _rare(kind: type) -> Callable[[Recipe], bool]:
    return lambda recipe: isinstance(getattr(recipe.text.embedder, "rare", None), kind)


def _validates_on_trained_kinds(recipe: Recipe) -> bool:
    data = recipe.data
    return data.validation_kinds is None and data.kinds not in (None, ["independent"])


REVISIONS: dict[str, tuple[int, Callable[[Recipe], bool]]] = {
    # Words of several languages share latent tokens.
    "latent tokens": (1, _rare(LatentRare)),
    # An epoch passes over captions; masked modelling is a mean over pairs of languages.
    "tuples": (1, lambda recipe: recipe.sampling.kind == "tuples"),
    # German nouns of the lexicon are found in lower-cased captions.
    "dictionary": (1, _rare(DictionaryRare)),
    # Unless told otherwise, early stopping evaluates on the kinds trained on.
    "validation": (1, _validates_on_trained_kinds),
}
"""What changed → number of times, and whether it concerns a recipe."""


def revisions(recipe: Recipe) -> dict[str, int]:
    """The changes that concern a recipe."""
    return {name: number for name, (number, concerns) in REVISIONS.items() if concerns(recipe)}
