"""Averages of universal word vectors."""

from pathlib import Path

import numpy as np
import torch

from polyglance.text.embedders import TextBatch
from polyglance.text.embedders.universal.layer import UniversalWords
from tests.training.test_trainer_universal import prepared


def test_averages_over_padding_count_the_layers_bias(toy: Path) -> None:
    model, data = prepared(toy, "mule", "compat.padded_average=true", "text.max_length=10")
    other, _ = prepared(toy, "mule", "text.max_length=10")
    state = {k: v for k, v in model.network.state_dict().items() if "padding" not in k}
    other.network.load_state_dict(state)
    row = data.languages.index("de")
    batch = TextBatch(*(torch.from_numpy(part) for part in data.ids.pad(np.array([row]))))
    languages = torch.zeros(1, dtype=torch.int64)
    _, padded = model.network.text.with_averages(batch, languages)
    _, average = other.network.text.with_averages(batch, languages)
    words = model.network.text.of("de").words
    assert isinstance(words, UniversalWords)
    count = int(batch.lengths)
    bias = words.projections["language_de"].bias
    torch.testing.assert_close(padded, average + (10 - count) / count * bias)
    distinct, index = torch.unique(batch.ids[0], return_inverse=True)
    expected = other.network.text.of("de").words(distinct)[index].mean(0, keepdim=True)
    torch.testing.assert_close(average, expected)
