"""Exports for other tools: TREC runs and qrels, and CLIP_benchmark's JSON."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.evaluation.protocol import EncodedLanguage
from polyglance.evaluation.ranking.metrics import KS
from polyglance.evaluation.reports.report import Report
from polyglance.numerics.sets import Embeddings
from polyglance.numerics.similarity import Score
from polyglance.storage.files import atomic, write_json

DEPTH = 100
QUERY_BLOCK = 256


def write_trec(folder: Path, encoded: EncodedLanguage, part: Dataset, tag: str) -> None:
    """Write LANGUAGE.{i2t,t2i}.{run,qrels} for trec_eval, ir_measures, ranx etc.

    Images are named by file, captions by file#n as in Flickr8k's token file; white space in names
    is percent-encoded.

    Args:
        folder: to write to.
        encoded: a language, as passed to `on_language` by `evaluate`.
        part: the split.
        tag: name of the run, the last column.
    """
    images = [_word(part.images[i].image) for i in encoded.gallery]
    captions = list(_caption_names(images, encoded.caption_image))
    owner = encoded.caption_image
    pairs = [(images[i], caption) for i, caption in zip(owner, captions, strict=True)]
    pairs.sort(key=lambda pair: pair[0])
    stem = _word(encoded.source.language)
    with atomic(folder / f"{stem}.i2t.qrels", "w") as handle:
        handle.writelines(f"{image} 0 {caption} 1\n" for image, caption in pairs)
    with atomic(folder / f"{stem}.t2i.qrels", "w") as handle:
        handle.writelines(f"{caption} 0 {image} 1\n" for image, caption in pairs)
    # Captions sorted by image, so that ties are broken as in `rank_both`.
    order = np.argsort(owner, kind="stable")
    sides = {
        "i2t": (encoded.images, encoded.captions[order], images, [captions[i] for i in order]),
        "t2i": (encoded.captions, encoded.images, captions, images),
    }
    for side, (queries, items, query_names, item_names) in sides.items():
        score = encoded.score if side == "i2t" else _transposed(encoded.score)
        with atomic(folder / f"{stem}.{side}.run", "w") as handle:
            for row, (best, values) in enumerate(top(queries, items, score, DEPTH)):
                handle.writelines(
                    f"{query_names[row]} Q0 {item_names[item]} {n} {value!r} {_word(tag)}\n"
                    for n, (item, value) in enumerate(
                        zip(best.tolist(), values.tolist(), strict=True), 1
                    )
                )


def top(
    queries: Embeddings, items: Embeddings, score: Score, depth: int = DEPTH
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(indices, scores) of each query's best items, the lower index first on ties.

    Args:
        queries: [Q, D] or sets.
        items: [N, D] or sets.
        score: maps queries and items to scores [q, N].
        depth: items per query.
    """
    depth = min(depth, len(items))
    for start in range(0, len(queries), QUERY_BLOCK):
        for line in score(queries[start : start + QUERY_BLOCK], items):
            limit = np.partition(line, len(line) - depth)[len(line) - depth]
            chosen = np.flatnonzero(line >= limit)
            chosen = chosen[np.argsort(-line[chosen], kind="stable")][:depth]
            yield chosen, line[chosen]


def clip_benchmark(report: Report, language: str, pretrained: str = "") -> dict[str, object]:
    """One language's metrics with CLIP_benchmark's keys; recalls are fractions.

    Its image retrieval is text → image, its text retrieval image → text.

    Args:
        report: of an evaluation.
        language: of the report.
        pretrained: name of the weights; the model's name by default.
    """
    metrics = report[language].metrics
    values: dict[str, float] = {}
    for i, k in enumerate(KS):
        values[f"image_retrieval_recall@{k}"] = metrics.text_to_image.recalls[i] / 100
        values[f"text_retrieval_recall@{k}"] = metrics.image_to_text.recalls[i] / 100
    return {
        "dataset": report.dataset,
        "model": report.model,
        "pretrained": pretrained or report.model,
        "task": "zeroshot_retrieval",
        "metrics": values,
        "language": language,
    }


def write_clip_benchmark(folder: Path, report: Report, pretrained: str = "") -> list[Path]:
    """One DATASET_MODEL_LANGUAGE.json per language, as `clip_benchmark build` reads them.

    Args:
        folder: to write to.
        report: of an evaluation.
        pretrained: name of the weights; the model's name by default.
    """
    paths = []
    for result in report.results:
        name = "_".join([report.dataset, report.model, result.language])
        paths.append(folder / (re.sub(r"[^\w.-]", "-", name) + ".json"))
        write_json(paths[-1], clip_benchmark(report, result.language, pretrained))
    return paths


def _transposed(score: Score) -> Score:
    return lambda captions, images: score(images, captions).T


def _caption_names(images: list[str], owner: np.ndarray) -> Iterator[str]:
    seen: dict[int, int] = {}
    for image in owner.tolist():
        seen[image] = seen.get(image, -1) + 1
        yield f"{images[image]}#{seen[image]}"


def _word(text: str) -> str:
    """Escape white space, which separates TREC's columns."""
    return re.sub(r"[\s%]", lambda match: f"%{ord(match.group()):02X}", text)
