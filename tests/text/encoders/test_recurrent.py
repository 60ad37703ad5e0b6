"""A GRU over words, against torch's on each caption alone."""

import pytest
import torch
from torch import nn

from polyglance.recipes.schema import BiGruRecipe, CompatRecipe, GruRecipe, TextRecipe
from polyglance.text.encoders.recurrent import GruEncoder

WORDS = torch.randn(9, 5, generator=torch.Generator().manual_seed(0))
INDEX = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])
LENGTHS = torch.tensor([4, 2, 1])


def make(settings: GruRecipe | BiGruRecipe, unpacked: bool = False) -> GruEncoder:
    torch.manual_seed(0)
    return GruEncoder(TextRecipe(encoder=settings), 5, CompatRecipe(unpacked=unpacked))


@pytest.mark.parametrize(
    "settings",
    [
        GruRecipe(hidden=6),
        GruRecipe(hidden=6, biases=1),
        BiGruRecipe(hidden=6),
        BiGruRecipe(hidden=6, directions="concatenate"),
    ],
)
def test_states_of_every_caption(settings: GruRecipe | BiGruRecipe) -> None:
    encoder = make(settings)
    states, lengths = encoder(WORDS, INDEX, LENGTHS)
    assert states.shape == (3, 4, settings.dim)
    assert torch.equal(lengths, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        expected, _ = nn.GRU.forward(encoder, WORDS[INDEX[row, :length]].unsqueeze(0))
        if settings.kind == "bigru" and settings.directions == "average":
            expected = (expected[..., :6] + expected[..., 6:]) / 2
        torch.testing.assert_close(states[row, :length], expected[0])
        assert not states[row, length:].any()


def test_unpacked_reads_padding_as_in_the_authors_code() -> None:
    packed, unpacked = make(BiGruRecipe(hidden=6)), make(BiGruRecipe(hidden=6), unpacked=True)
    right, _ = packed(WORDS, INDEX, LENGTHS)
    states, lengths = unpacked(WORDS, INDEX, LENGTHS)
    assert torch.equal(lengths, LENGTHS)
    expected, _ = nn.GRU.forward(unpacked, WORDS[INDEX])
    torch.testing.assert_close(states, (expected[..., :6] + expected[..., 6:]) / 2)
    torch.testing.assert_close(states[0], right[0])
    assert not torch.allclose(states[1, :2], right[1, :2])


@pytest.mark.parametrize("kind", [GruRecipe, BiGruRecipe])
@pytest.mark.parametrize("biases", [1, 2])
def test_orthogonal_weights_at_first(kind: type[GruRecipe], biases: int) -> None:
    """All three gates of a matrix [3H, …] together, as in HGR's code."""
    encoder = make(kind(hidden=6, initial="orthogonal", biases=biases))
    named = dict(encoder.named_parameters())
    for name in (name for name in named if name.startswith("weight")):
        weight = named[name].detach()
        torch.testing.assert_close(weight.t() @ weight, torch.eye(weight.shape[1]))
    assert all(not named[name].any() for name in named if name.startswith("bias"))
