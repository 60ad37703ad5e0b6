"""What recipes of the package said in version 0.1.0, where they say something else today.

A recipe file in that version's form keeps its meaning: these values are laid over the recipe that
it names as its base. Recipes based on one that is listed here need no entry of their own.
"""

from typing import Any

BEFORE: dict[str, dict[str, Any]] = {
    "nce": {"training": {"epochs": 3}},
    "scan-t2i": {"text": {"tokenizer": "words"}},
    "vse-infinity": {"text": {"tokenizer": "words"}},
    "vsepp": {"text": {"tokenizer": "words"}},
    "vsrn": {"text": {"tokenizer": "words"}},
}
"""Name of a recipe → fields, by section, as they were."""
