"""Generating captions: against a reference that goes word by word, and what learning does."""

import math

import pytest
import torch
from torch import nn

from polyglance.objectives import CaptionGenerator, caption_loss
from polyglance.recipes.schema import CaptioningRecipe

RECIPE = CaptioningRecipe(hidden=6, word_dim=5, dropout=0.0)
WORDS = 9


def generator(recipe: CaptioningRecipe = RECIPE) -> CaptionGenerator:
    torch.manual_seed(3)
    return CaptionGenerator(recipe, 4, WORDS).double()


def batch() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(5)
    vectors = torch.randn(3, 4, 4, dtype=torch.double)
    ids = torch.tensor([[1, 5, 6, 2, 0], [1, 7, 2, 0, 0], [1, 4, 8, 5, 2]])
    return vectors, torch.tensor([4, 2, 1]), ids, torch.tensor([4, 3, 5])


def reference(model: CaptionGenerator, vectors, lengths, ids, sizes) -> float:
    """The same from torch's own modules, a caption and a word at a time, in probabilities."""
    reads = nn.GRU(6, 6, batch_first=True).double()
    reads.load_state_dict(model.encoder.state_dict())
    total = 0.0
    for row in range(len(ids)):
        own = vectors[row, : lengths[row]].unsqueeze(0)
        states, hidden = reads(model.inputs(own))
        hidden = hidden[0]
        for place in range(int(sizes[row]) - 1):
            scores = [
                model.weight(torch.tanh(model.attention(torch.cat([state, hidden[0]]))))
                for state in states[0]
            ]
            raised = torch.stack(scores).squeeze(1).exp()
            context = ((raised / raised.sum()).unsqueeze(1) * states[0]).sum(0)
            given = torch.cat([model.words.weight[ids[row, place]], context]).unsqueeze(0)
            hidden = model.decoder(given, hidden)
            likely = model.output(hidden)[0].exp()
            total -= math.log(float(likely[ids[row, place + 1]] / likely.sum()))
    return total / len(ids)


def test_the_loss_is_that_of_every_word_by_itself() -> None:
    model, parts = generator(), batch()
    with torch.no_grad():
        assert float(model(*parts)) == pytest.approx(reference(model, *parts), rel=1e-12)


def test_a_uniform_guess_costs_the_logarithm_of_the_vocabulary() -> None:
    model, parts = generator(), batch()
    nn.init.zeros_(model.output.weight)
    nn.init.zeros_(model.output.bias)
    words = (parts[3] - 1).sum().item()
    assert model(*parts).item() == pytest.approx(words / 3 * math.log(WORDS))
    found = caption_loss(torch.zeros(4, WORDS), torch.zeros(4, dtype=torch.long), 1)
    assert float(found) == pytest.approx(4 * math.log(WORDS))


def test_padding_of_images_and_captions_does_not_count() -> None:
    model, (vectors, lengths, ids, sizes) = generator(), batch()
    wide = torch.full((3, 7, 4), 1e3, dtype=torch.double)
    inside = torch.arange(4) < lengths.unsqueeze(1)
    wide[:, :4][inside] = vectors[inside]
    more = torch.cat([ids, torch.full((3, 2), 3)], 1)
    assert float(model(wide, lengths, more, sizes)) == pytest.approx(
        float(model(vectors, lengths, ids, sizes)), rel=1e-12
    )


def test_gradients_are_those_of_finite_differences() -> None:
    model, (vectors, *rest) = generator(), batch()
    vectors.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda v: model(v, *rest), (vectors,), atol=1e-6)


def test_learning_lowers_it_and_needs_the_image() -> None:
    model, parts = generator(), batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    first = float(model(*parts))
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(*parts)
        loss.backward()
        optimizer.step()
    assert float(model(*parts)) < 0.2 * first
    shuffled = (parts[0].flip(0), parts[1].flip(0), *parts[2:])
    assert float(model(*shuffled)) > 2 * float(model(*parts))


def test_dropout_is_for_training_alone() -> None:
    model, parts = generator(CaptioningRecipe(hidden=6, word_dim=5, dropout=0.5)), batch()
    assert float(model(*parts)) != float(model(*parts))
    model.eval()
    assert float(model(*parts)) == float(model(*parts))
