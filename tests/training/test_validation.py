"""Validation while training: the recalls of the evaluation, whatever the captions are."""

from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset, load_folder, save_folder
from polyglance.evaluation import evaluate, protocol
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import Vocabulary
from polyglance.training.validation import Validation
from tests.conftest import TOY, WORDS

BATCH = 4


def repeat_first_captions(toy: Path) -> None:
    """Give every BATCH-th validation caption in English the same text, on different images."""
    rows = load_folder(toy).photos
    for index, row in enumerate(row for row in rows if row.split == "val"):
        own = row.captions["en"]["independent"][0]
        row.captions["en"]["independent"][:] = ["a dog" if index % BATCH == 0 else own]
    save_folder(toy, rows)


def test_batches_that_begin_alike_are_not_confused(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "TEXTS_AT_A_TIME", BATCH)
    repeat_first_captions(toy)
    dataset = load_dataset(toy)
    texts = dataset.split("val").captions(["en"], ["independent"]).texts
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    assert len({tuple(batch) for batch in batches}) > len({batch[0] for batch in batches}) == 1
    torch.manual_seed(0)
    words = [word for groups in WORDS.values() for group in groups for word in group]
    model = Model(load_recipe("vsepp", parse_overrides(TOY)), Vocabulary([*words, "a"]), 16, ["de", "en"])
    kept = Validation(model, dataset, "val", None)
    expected = evaluate(model, dataset, "val", bootstrap=0, show_progress=False)
    # Of two reports, the second reads nothing but kept tokens.
    for found in (kept.report(), kept.report()):
        assert [result.language for result in found.results] == ["de", "en"]
        for ours, theirs in zip(found.results, expected.results, strict=True):
            mine, other = ours.outcome.ranks, theirs.outcome.ranks
            np.testing.assert_array_equal(mine.text_to_image, other.text_to_image)
            np.testing.assert_array_equal(mine.image_to_text, other.image_to_text)
            assert ours.metrics == theirs.metrics
