"""The captions of a scene, in every language and of both kinds."""

from random import Random

from polyglance.data.dataset import Captions
from polyglance.data.generated.languages import LANGUAGES, realise
from polyglance.data.generated.messages import free_message, whole_message
from polyglance.data.generated.world import Scene

PER_LANGUAGE = 2


def caption(scene: Scene, seed: int, index: int, per_language: int = PER_LANGUAGE) -> Captions:
    """One `translation` and some `independent` captions in every language.

    The translations render the same message. The message of each independent caption is sampled
    on its own, so they are not parallel across languages.

    Args:
        scene: what there is to see.
        seed: of the world.
        index: of the scene in it.
        per_language: independent captions of each language.
    """
    whole = whole_message(scene)
    captions: Captions = {}
    for code in LANGUAGES:
        free = [
            realise(free_message(scene, Random(f"{seed}/caption/{index}/{code}/{number}")), code)
            for number in range(per_language)
        ]
        captions[code] = {"independent": free, "translation": [realise(whole, code)]}
    return captions
