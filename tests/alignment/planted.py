"""Word vectors of two languages of which one is the other turned, and a writer of .bin files."""

import struct

import numpy as np

from polyglance.text.vectors.fasttext import MAGIC
from polyglance.text.vectors.word_vectors import WordVectors, normalise_rows


def rotation(dim, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))[0]


def languages(count=300, dim=20, noise=0.0, seed=0):
    """(source, target, turn): word a{i} means b{i}, frequent first, with noise in the target."""
    generator = np.random.default_rng(seed)
    source = generator.normal(size=(count, dim)).astype(np.float32)
    source = normalise_rows(source)
    turn = rotation(dim, seed + 1).astype(np.float32)
    target = source @ turn.T + noise * generator.normal(size=source.shape).astype(np.float32)
    words = [[f"{letter}{i}" for i in range(count)] for letter in "ab"]
    return WordVectors(words[0], source), WordVectors(words[1], target), turn


def write_bin(path, words, matrix, buckets, shortest, longest, **changes):
    """A fastText model of version 12 with settings changed; words are bytes."""
    value = {"model": 2, "quantised": 0, "pruned": -1, "magic": MAGIC, "rows": len(matrix)}
    value |= changes
    settings = [matrix.shape[1], 5, 5, 1, 5, 1, 2, value["model"], buckets, shortest, longest, 100]
    data = struct.pack("<2i", value["magic"], 12) + struct.pack("<12i d", *settings, 1e-4)
    data += struct.pack("<3i 2q", len(words), len(words), 0, 999, value["pruned"])
    for count, word in enumerate(words, 1):
        data += word + b"\0" + struct.pack("<q b", 1000 // count, 0)
    data += struct.pack("<b 2q", value["quantised"], value["rows"], matrix.shape[1])
    path.write_bytes(data + matrix.astype("<f4").tobytes() + struct.pack("<b 2q", 0, 0, 0))
    return path
