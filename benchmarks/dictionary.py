"""How many rare words of captions a lexicon translates to English (SMALR's dictionary baseline).

    python benchmarks/dictionary.py DATA [--lexicon FILE] [--below 50] [--min-count 2]

A word is rare if it occurs less than `--below` times in the training captions. It is translated if
its English translation occurs in the English training captions; "as spelt" looks words up in the
lexicon's spelling, with the capitals of German nouns.
"""

import argparse
from collections import Counter

from polyglance.data import load_dataset
from polyglance.text.lexicon import Lexicon, lexicon_path
from polyglance.text.tokenizers.base import tokenize_many


def main() -> None:
    """Print a table: languages, rare words, how many are translated in either way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--lexicon")
    parser.add_argument("--below", type=int, default=50)
    parser.add_argument("--min-count", type=int, default=2)
    given = parser.parse_args()
    train = load_dataset(given.data).split("train")
    lexicon = Lexicon.open(lexicon_path(given.lexicon, "benchmarks/dictionary.py"))
    counts = {
        code: Counter(
            word for words in tokenize_many(train.captions([code]).texts, code) for word in words
        )
        for code in train.languages
    }
    english = {word for word, count in counts["en"].items() if count >= given.min_count}
    print("| language | rare words | translated, as spelt | in lower case |")
    print("| --- | ---: | ---: | ---: |")
    for code in train.languages:
        if code == "en" or code not in lexicon.languages:
            continue
        rare = {w for w, n in counts[code].items() if given.min_count <= n < given.below}
        found = [
            len({a for a, b in lexicon.pairs(code, "en", normalised) if a in rare and b in english})
            for normalised in (False, True)
        ]
        print(f"| {code} | {len(rare):,} | {found[0]:,} | {found[1]:,} |")


if __name__ == "__main__":
    main()
