"""How often another spelling is suggested, and how often it is the right one.

    python benchmarks/spelling.py DATASET [--split val] [--images 500] [--queries 200]

Queries are one to six consecutive words of captions of the split, whose images are searched. A
correct query should be left alone; one with a typo (`evaluation.perturb.typos`) in one of its words
should be corrected. Many typos need no correction, as the model reads subwords.
"""

import argparse
from random import Random

import numpy as np

from polyglance.data import Dataset, load_dataset
from polyglance.evaluation.perturb.typos import typo
from polyglance.gallery import Gallery
from polyglance.gallery.scoring import Scorer
from polyglance.gallery.suggestion import Suggester
from polyglance.runtime import open_model
from polyglance.text.spelling import SHORTEST


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset")
    parser.add_argument("--split", default="val")
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--queries", type=int, default=200, help="per language")
    given = parser.parse_args()
    model, dataset = open_model(None), load_dataset(given.dataset)
    rows = [row for row, one in enumerate(dataset.images) if one.split == given.split]
    paths = [dataset.paths()[row] for row in rows[: given.images]]
    vectors = np.asarray(model.encode_images(paths))
    scorer = Scorer(model, Gallery(paths, vectors, [], unit=True))
    suggester = Suggester(model)
    print("| language | queries | changed though right | slip: right | slip: wrong | slip: none |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for language in sorted({code for row in rows for code in dataset.images[row].captions}):
        found = []
        for words, slipped in queries(dataset, rows[: given.images], language, given.queries):
            right = " ".join(words)
            said = suggester(scorer, " ".join(slipped))
            changed = suggester(scorer, right) is not None
            found.append((changed, (said or "").lower() == right, said is None))
        changed, fixed, silent = np.mean(found, axis=0) if found else (np.nan,) * 3
        wrong = 1 - fixed - silent
        shares = " | ".join(f"{share:.1%}" for share in (changed, fixed, wrong, silent))
        print(f"| {language} | {len(found)} | {shares} |", flush=True)


def queries(
    dataset: Dataset, rows: list[int], language: str, count: int
) -> list[tuple[list[str], list[str]]]:
    """Words of a query, and the same with a typo."""
    chance, found = Random(0), []
    kinds = [dataset.images[row].captions.get(language, {}) for row in rows]
    captions = [text for one in kinds for texts in one.values() for text in texts]
    chance.shuffle(captions)
    for caption in captions[:count]:
        words = [word.strip(".,;:!?\"'()") for word in caption.lower().split()]
        size = chance.choice((1, 2, 3, 6))
        start = chance.randrange(max(1, len(words) - size + 1))
        words = [word for word in words[start : start + size] if word]
        places = [place for place, word in enumerate(words) if len(word) >= SHORTEST]
        if not places:
            continue
        place = chance.choice(places)
        slip = typo(words[place], chance)
        if slip is not None:
            found.append((words, [*words[:place], slip, *words[place + 1 :]]))
    return found


if __name__ == "__main__":
    main()
