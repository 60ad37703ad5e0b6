"""The text tower: padding never changes an embedding, and averages are those of loops."""

import pytest
import torch

from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import TextBatch
from polyglance.text.embedders.layer import FIRST_ADDED, AddedRows
from polyglance.text.embedders.table_layer import WordTable
from polyglance.text.encoders.tower import LanguageTowers, TextTower, Tower

SMALL = ["text.encoder.hidden=6", "text.embedder.word_dim=5", "joint.dim=6"]


def recipe_of(*changes: str) -> Recipe:
    return load_recipe("vsepp", parse_overrides([*SMALL, *changes]))


def make(*changes: str, added: AddedRows | None = None) -> TextTower:
    torch.manual_seed(0)
    return TextTower(recipe_of(*changes), WordTable(20, 5), added).eval()


IDS = torch.randint(4, 20, (3, 7), generator=torch.Generator().manual_seed(0))
LENGTHS = torch.tensor([7, 2, 4])


@pytest.mark.parametrize("pooling", ["last", "mean", "max", "first"])
@pytest.mark.parametrize("encoder", ["gru", "bigru"])
def test_an_embedding_does_not_depend_on_the_batch(encoder: str, pooling: str) -> None:
    tower = make(f"text.encoder.kind={encoder}", f"text.pooling={pooling}")
    together, words = tower(TextBatch(IDS, LENGTHS)), tower.vectors(TextBatch(IDS, LENGTHS))
    for row, length in enumerate(LENGTHS.tolist()):
        batch = TextBatch(IDS[row : row + 1, :length], torch.tensor([length]))
        torch.testing.assert_close(tower(batch)[0], together[row])
        torch.testing.assert_close(tower.vectors(batch)[0], words[row, :length])


def test_dimensions() -> None:
    both = ["text.encoder.kind=bigru", "text.projection=true"]
    assert make("text.encoder.kind=bigru").dim == 6
    concatenated = make(*both, "text.encoder.directions=concatenate", "joint.dim=9")
    assert concatenated.dim == 9
    assert concatenated.projection.weight.shape == (9, 12)
    assert not isinstance(make().projection, torch.nn.Linear)


@pytest.mark.parametrize("counted", [None, IDS % 2 == 0])
def test_averages_of_words(counted: torch.Tensor | None) -> None:
    tower = make()
    texts, averages = tower.with_averages(TextBatch(IDS, LENGTHS), torch.zeros(3), counted)
    torch.testing.assert_close(texts, tower(TextBatch(IDS, LENGTHS)))
    for row, length in enumerate(LENGTHS.tolist()):
        kept = [t for t in range(7) if (counted[row, t] if counted is not None else t < length)]
        vectors = tower.words.weight[IDS[row, kept]]
        expected = vectors.mean(0) if kept else torch.zeros(5)
        torch.testing.assert_close(averages[row], expected)


def test_added_words_are_read_beside_the_others() -> None:
    added = AddedRows({"nl": (FIRST_ADDED, 2)}, 5)
    tower = make(added=added)
    assert tower.word_layers() == [tower.words, added]
    with torch.no_grad():
        added.tables["language_nl"].copy_(tower.words.weight[[7, 9]])
    mine = TextBatch(torch.tensor([[FIRST_ADDED, 5, FIRST_ADDED + 1]]), torch.tensor([3]))
    same = TextBatch(torch.tensor([[7, 5, 9]]), torch.tensor([3]))
    torch.testing.assert_close(tower(mine), tower(same))


@pytest.fixture
def towers() -> LanguageTowers:
    torch.manual_seed(0)
    parts = {code: TextTower(recipe_of(), WordTable(20, 5)) for code in ("de", "en", "to")}
    return LanguageTowers(parts, {"nl": "de"}).eval()


def test_a_tower_for_each_language(towers: LanguageTowers) -> None:
    batch = TextBatch(IDS, LENGTHS)
    torch.testing.assert_close(towers(batch, "to"), towers.of("to")(batch))
    assert not torch.allclose(towers(batch, "to"), towers(batch, "en"))
    torch.testing.assert_close(towers(batch, "nl"), towers(batch, "de"))
    torch.testing.assert_close(towers.vectors(batch, "en"), towers.of("en").vectors(batch))
    assert len(towers.word_layers()) == 3
    assert towers.dim == 6


@pytest.mark.parametrize("languages", [[2, 0, 1], [1, 1, 1], [2, 1, 2]])
def test_texts_of_several_languages_keep_their_order(
    towers: LanguageTowers, languages: list[int]
) -> None:
    texts, averages = towers.with_averages(TextBatch(IDS, LENGTHS), torch.tensor(languages))
    for row, number in enumerate(languages):
        tower = towers.of(("de", "en", "to")[number])
        alone = TextBatch(IDS[row : row + 1], LENGTHS[row : row + 1])
        text, average = tower.with_averages(alone, torch.zeros(1))
        torch.testing.assert_close(texts[row : row + 1], text)
        torch.testing.assert_close(averages[row : row + 1], average)


def test_a_bare_tower_says_what_is_missing() -> None:
    tower, batch = Tower(3), TextBatch(IDS, LENGTHS)
    for call in (
        lambda: tower(batch),
        lambda: tower.vectors(batch),
        lambda: tower.with_averages(batch, LENGTHS),
        tower.word_layers,
        lambda: tower.of("en"),
    ):
        with pytest.raises(TypeError, match="text tower"):
            call()


def test_dropout_by_position_is_drawn_wherever_a_word_stands() -> None:
    """The same word twice: dropped alike by word, each by itself by position."""
    batch = TextBatch(torch.full((40, 2), 7), torch.full((40,), 2))
    changes = ["text.word_dropout=0.5", "text.pooling=mean"]
    read: list[torch.Tensor] = []
    for by in ("word", "position"):
        tower = make(*changes, f"text.dropout_by={by}").train()
        tower.encoder.register_forward_pre_hook(
            lambda _, given: read.append(given[0][given[1]].detach())
        )
        tower(batch)
    by_word, by_position = read  # [40, 2, 5]
    assert (by_word == by_word[0, 0]).all()
    kept = (by_position != 0).float().mean((0, 1))
    assert (kept > 0.3).all()
    assert (kept < 0.7).all()
    assert not torch.equal(by_position[:, 0], by_position[:, 1])
    # What is kept has twice its value, and without training nothing is dropped.
    plain = make(*changes, "text.dropout_by=position").words.weight[7].detach()
    torch.testing.assert_close(by_position.amax((0, 1)), (2 * plain).clamp(min=0))
    tower.eval()
    torch.testing.assert_close(tower(batch), make(*changes)(batch))
