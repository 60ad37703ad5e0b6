"""Single words of everyday things in many languages: average precision relative to English.

    python benchmarks/word_search.py [MODEL] [--split val] [--json FILE]

An image shows a thing if at least two of its English captions name it. In every language of the
lexicon with at least 15 of the things, the first word of the thing's synset searches all images;
the average precision, in the mean over things, is divided by that of the English words for the
same things. Chance is the share of images that show a thing. `nothing` is the percentage of words
for which no image reaches the model's cut-off.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.core.languages import language_name
from polyglance.data import Dataset, load_dataset
from polyglance.evaluation.encoder import encode_quietly
from polyglance.runtime import open_model
from polyglance.text.lexicon import Lexicon

SHARED = Path(__file__).parents[2] / "shared" / "data"
LEAST_THINGS, LEAST_IMAGES, LEAST_CAPTIONS = 15, 2, 2
THINGS = {
    "dog": ("02084071-n", "dog dogs puppy"),
    "man": ("10287213-n", "man men guy"),
    "woman": ("10787470-n", "woman women lady"),
    "girl": ("10129825-n", "girl girls"),
    "boy": ("10285313-n", "boy boys"),
    "child": ("09917593-n", "child children kid kids boy girl boys girls toddler"),
    "beach": ("09217230-n", "beach beaches"),
    "snow": ("11508382-n", "snow"),
    "ball": ("02778669-n", "ball balls"),
    "bicycle": ("02834778-n", "bicycle bike bikes biker bicyclist"),
    "motorcycle": ("03790512-n", "motorcycle motorcycles motorbike"),
    "horse": ("02374451-n", "horse horses"),
    "car": ("02958343-n", "car cars"),
    "boat": ("02858304-n", "boat boats"),
    "tree": ("13104059-n", "tree trees"),
    "grass": ("12102133-n", "grass"),
    "mountain": ("09359803-n", "mountain mountains"),
    "street": ("04334599-n", "street road"),
    "hat": ("03497657-n", "hat hats"),
    "bird": ("01503061-n", "bird birds"),
    "skateboard": ("04225987-n", "skateboard skateboards"),
    "swimming pool": ("04371225-n", "pool"),
    "sand": ("15019030-n", "sand"),
    "baby": ("09827683-n", "baby babies"),
    "bench": ("02828884-n", "bench benches"),
    "sofa": ("04256520-n", "couch sofa"),
    "camera": ("02942699-n", "camera cameras"),
    "building": ("02913152-n", "building buildings"),
    "river": ("09411430-n", "river rivers"),
    "sea": ("09426788-n", "sea ocean"),
    "rock": ("09416076-n", "rock rocks boulder"),
    "helmet": ("03513137-n", "helmet helmets"),
    "football": ("00478262-n", "football soccer"),
}
"""English word → synset, and the words by which captions name it."""


def shown(part: Dataset) -> dict[str, np.ndarray]:
    """Thing → whether each image [N] shows it, for things that some images show."""
    found = {}
    captions = [
        [
            set(re.findall(r"[a-z']+", text.lower()))
            for texts in one.captions.get("en", {}).values()
            for text in texts
        ]
        for one in part.images
    ]
    for thing, (_, words) in THINGS.items():
        names = set(words.split())
        has = [sum(bool(own & names) for own in one) >= LEAST_CAPTIONS for one in captions]
        if sum(has) >= LEAST_IMAGES:
            found[thing] = np.array(has)
    return found


def average_precision(scores: np.ndarray, right: np.ndarray) -> float:
    """Mean precision at the ranks of the right images.

    >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))
    0.8333333333333333
    """
    hits = right[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1)).mean())


def measure(model: Any, part: Dataset, lexicon: Lexicon) -> list[dict[str, Any]]:
    """A row per language, best first."""
    images, has = np.asarray(model.encode_dataset(part)), shown(part)
    background = model.background

    def scores(word: str) -> tuple[np.ndarray, bool]:
        text = np.asarray(encode_quietly(model, [word], None))
        found = (images @ text.T)[:, 0]
        least = background is not None and bool(
            (background.calibrated(images, text)[:, 0] < background.cutoff).all()
        )
        return found, least

    english = {thing: average_precision(scores(thing)[0], has[thing]) for thing in has}
    rows = []
    for language in lexicon.languages:
        lemmas = lexicon.lemmas(language)
        words = {thing: lemmas[THINGS[thing][0]][0] for thing in has if THINGS[thing][0] in lemmas}
        if len(words) < LEAST_THINGS:
            continue
        own = {thing: scores(word) for thing, word in words.items()}
        precision = np.mean([average_precision(own[thing][0], has[thing]) for thing in words])
        share = precision / np.mean([english[thing] for thing in words])
        nothing = np.mean([least for _, least in own.values()])
        rows.append(
            {
                "language": language,
                "things": len(words),
                "map": 100 * float(precision),
                "share": 100 * float(share),
                "nothing": 100 * float(nothing),
            }
        )
    return sorted(rows, key=lambda row: -row["share"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--data", default=str(SHARED / "flickr8k-ml"))
    parser.add_argument("--lexicon", type=Path, default=SHARED / "lexicon.tsv.gz")
    parser.add_argument("--split", default="val")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    part = load_dataset(given.data).split(given.split)
    rows = measure(open_model(given.model), part, Lexicon.open(given.lexicon))
    print("| language | things | mAP | % of English | nothing |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        cells = [f"{row[name]:.0f}" for name in ("map", "share", "nothing")]
        name = language_name(row["language"])
        print(f"| {name} (`{row['language']}`) | {row['things']} | {' | '.join(cells)} |")
    chance = np.mean([has.mean() for has in shown(part).values()])
    print(f"\nchance: {100 * chance:.0f}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
