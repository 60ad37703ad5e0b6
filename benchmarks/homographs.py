"""Homographs of two languages: is a query understood in its own language, without specifying it?

    python benchmarks/homographs.py [MODEL]

Each line has a query, its meaning in English, and what it looks like in English (or in another
language). A query is understood if it is closer to its meaning. Chance level is below one half, as
the wrong text shares the query's letters.
"""

import sys

import numpy as np

import polyglance

PAIRS = (
    ("de", "Angeln am See", "fishing at a lake", "angels by the sea"),
    ("de", "ein Mann mit Hut", "a man with a hat", "a man in a hut"),
    ("de", "eine Frau im Rock", "a woman in a skirt", "a woman on a rock"),
    ("de", "ein Kind", "a child", "kind"),
    ("de", "eine Wand", "a wall", "a magic wand"),
    ("de", "eine Flasche Gift", "a bottle of poison", "a bottle as a gift"),
    ("de", "ein Brand in der Stadt", "a fire in the city", "a brand in the city"),
    ("de", "der Herd", "the stove", "the herd"),
    ("fr", "une main", "a hand", "a main road"),
    ("fr", "du pain", "bread", "pain"),
    ("fr", "un four", "an oven", "number four"),
    ("fr", "une chair", "flesh", "a chair"),
    ("fr", "un chat", "a cat", "a chat between people"),
    ("fr", "un pin", "a pine tree", "a pin"),
    ("fr", "des pies sur un arbre", "magpies on a tree", "pies on a tree"),
    ("es", "un pie", "a foot", "a pie"),
    ("es", "una carpeta", "a folder", "a carpet"),
    ("es", "ropa al sol", "clothes in the sun", "rope in the sun"),
    ("es", "un vaso", "a glass", "a vase"),
    ("es", "una red", "a net", "red"),
    ("pt", "um casal", "a couple", "a casual"),
    ("pt", "uma pasta", "a folder", "pasta"),
    ("pt", "um polvo", "an octopus", "dust"),
    ("pt", "puxar", "to pull", "to push"),
    ("cs", "pes", "a dog", "a foot"),
    ("cs", "host", "a guest", "a host"),
    ("nl", "een brand", "a fire", "a brand"),
    ("nl", "een slang", "a snake", "slang"),
    ("it", "burro", "butter", "a donkey"),
    ("es", "burro", "a donkey", "butter"),
    ("it", "un camino", "a fireplace", "a road"),
    ("pl", "divan", "a sofa", "a diva"),
    ("tr", "at", "a horse", "at"),
    ("sv", "barn", "children", "a barn"),
)
"""Language, query, meaning, false meaning."""


def main() -> None:
    model = polyglance.load(*sys.argv[1:2])
    right = 0
    for language, *texts in PAIRS:
        query, meaning, other = np.asarray(model.encode_text(texts))
        near, far = float(query @ meaning), float(query @ other)
        right += near > far
        print(f"{language}  {texts[0]:24} {texts[1]:20} {near:.2f}  {texts[2]:24} {far:.2f}")
    print(f"{right} of {len(PAIRS)} are nearer to their meaning")


if __name__ == "__main__":
    main()
