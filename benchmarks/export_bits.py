"""The cost of fewer bits: the size of an export, its embeddings and its recalls.

    python benchmarks/export_bits.py RUN DATASET [--split val]

For every precision and number of bits: cosine similarities of the embeddings of captions with
those of the model itself, and mR, averaged over languages, of captions and images encoded by the
export itself.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from polyglance.data import Dataset, load_dataset
from polyglance.data.dataset import CaptionTable
from polyglance.evaluation.ranking.metrics import metrics
from polyglance.evaluation.ranking.ranks import rank_both
from polyglance.models import Model
from polyglance.runtime import export_model, load

WAYS = (("fp32", 32), ("fp32", 8), ("fp32", 4), ("fp16", 4), ("int8", 8), ("int8", 4))
"""Precision of the graphs, bits of the tables."""


def mean_mr(images: np.ndarray, texts: np.ndarray, table: CaptionTable) -> float:
    """mR averaged over languages; a language's images are those with captions in it."""
    codes, found = np.array(table.languages), []
    for code in sorted(set(table.languages)):
        own = np.flatnonzero(codes == code)
        used, index = np.unique(table.image[own], return_inverse=True)
        found.append(metrics(rank_both(images[used], texts[own], index)).mr)
    return float(np.mean(found))


def row(model: Model, part: Dataset, precision: str, bits: int) -> str:
    """A row of the table."""
    table = part.captions()
    own = model.encode_text(table.texts, show_progress=False)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        export_model(model, out, precision, table_bits=bits)  # type: ignore[arg-type]
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e6
        other = load(out)
        texts = other.encode_text(table.texts, show_progress=False)
        images = other.encode_images([part.path(one) for one in part.images], show_progress=False)
    cosine = (own * texts).sum(1)
    found = f"{cosine.mean():.5f} | {cosine.min():.5f} | {mean_mr(images, texts, table):.2f}"
    return f"| {precision} | {bits} | {size:.1f} | {found} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("dataset")
    parser.add_argument("--split", default="val")
    given = parser.parse_args()
    model = Model.load(given.run)
    part = load_dataset(given.dataset).split(given.split)
    print("| precision | bits of tables | MB | cosine, mean | least | mR |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for precision, bits in WAYS:
        print(row(model, part, precision, bits), flush=True)


if __name__ == "__main__":
    main()
