"""The last step of training polyglance-base: words and sentences of languages without captions.

    python benchmarks/base_words.py MODEL OUT [--epochs 8] [--lr 0.003]

Run in a folder with flickr8k-ml, words.jsonl.gz and parallel.jsonl.gz (docs/models/base.md). As
`polyglance add-language` does for one language, it trains rows of hashed subwords of the exported
MODEL on pairs with English: all words of words.jsonl.gz, and the sentences of Tatoeba in these and
other languages without captions. Rows that are read for a caption of a training image, or for a
word of the model's vocabulary, are not trained, so that these texts keep their embeddings.
"""

import argparse
import random
from pathlib import Path

from polyglance import load_dataset
from polyglance.data.text_only import read_tuples
from polyglance.transfer import TextPairs, teach_pairs

PIVOT = "en"
PER_LANGUAGE = 2
"""Most words per language and tuple."""
CAPTIONS = 18_000


def by_tuple(path: Path) -> dict[int, dict[str, list[str]]]:
    """Tuple → language → texts, of tuples with English."""
    table = read_tuples(path, None, 0)
    found: dict[int, dict[str, list[str]]] = {}
    for number, language, text in zip(table.image, table.languages, table.texts, strict=True):
        found.setdefault(int(number), {}).setdefault(language, []).append(text)
    return {number: texts for number, texts in found.items() if PIVOT in texts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.003)
    given = parser.parse_args()
    train = load_dataset("flickr8k-ml").split("train").captions()
    captioned = set(train.languages)
    pairs, languages = TextPairs(), set()
    for texts in by_tuple(Path("words.jsonl.gz")).values():
        for language in texts.keys() - {PIVOT}:
            for place, word in enumerate(texts[language][:PER_LANGUAGE], 1):
                pairs.add(word, texts[PIVOT][0], 1 / place)
                languages.add(language)
    for texts in by_tuple(Path("parallel.jsonl.gz")).values():
        if len(texts) != 2:  # Tatoeba's are pairs; others may be captions
            continue
        for language in texts.keys() - captioned:
            pairs.add(texts[language][0], texts[PIVOT][0])
            languages.add(language)
    pairs.fixed.extend(dict.fromkeys(train.texts))
    pairs.others.extend(random.Random(0).sample(train.texts, CAPTIONS))
    print(f"{len(pairs.texts)} pairs in {len(languages)} languages", flush=True)
    found = teach_pairs(given.model, pairs, sorted(languages), given.out, given.epochs, given.lr)
    print(
        f"English text is the closest of 1,000: {found.before:.1f} % before, {found.after:.1f} % "
        f"after; other texts keep a cosine of {found.kept:.3f}, at least {found.least:.3f}"
    )


if __name__ == "__main__":
    main()
