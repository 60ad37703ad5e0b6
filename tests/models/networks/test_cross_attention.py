"""SCAN and IMRAM against one pair at a time, and whatever surrounds it."""

import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.models.networks import cross_attention
from polyglance.models.networks.attention import Sets
from polyglance.models.networks.cross_attention import CrossAttention
from polyglance.models.networks.network import TwoTower, build_network
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import TextBatch
from tests.models.reference import imram, scan, unit
from tests.models.small import table_embedder

DIM = 6
SMALL = ["text.encoder.hidden=6", "text.embedder.word_dim=5", "joint.dim=6"]
SETTINGS = [
    ("scan-t2i", "joint.similarity.lse=null"),
    ("scan-t2i", "joint.similarity.lse=6"),
    ("scan-i2t", "joint.similarity.lse=null"),
    ("scan-i2t", "joint.similarity.lse=5"),
    ("imram", "joint.similarity.direction=t2i"),
    ("imram", "joint.similarity.direction=i2t"),
    ("imram", "joint.similarity.direction=both"),
    ("imram", "joint.similarity.steps=1"),
]


def network(name: str, *changes: str) -> CrossAttention:
    torch.manual_seed(1)
    recipe = load_recipe(name, parse_overrides([*SMALL, *changes]))
    built = build_network(recipe, 7, table_embedder(recipe, 20))
    assert isinstance(built, CrossAttention)
    return built.double()


def sets(lengths: list[int], seed: int, width: int | None = None, fill: float = 9.0) -> Sets:
    """Unit vectors of random directions; past a length stands `fill`."""
    generator = np.random.default_rng(seed)
    vectors = np.full((len(lengths), width or max(lengths), DIM), float(fill))
    for row, length in enumerate(lengths):
        vectors[row, :length] = unit(generator.standard_normal((length, DIM)))
    return Sets(torch.from_numpy(vectors), torch.tensor(lengths))


def brute_force(net: CrossAttention, images: Sets, captions: Sets) -> np.ndarray:
    result = np.zeros((len(images.lengths), len(captions.lengths)))
    for direction, part in net.matching.items():
        for i, picture in enumerate(listed(images)):
            for j, words in enumerate(listed(captions)):
                roles = (words, picture) if direction == "t2i" else (picture, words)
                result[i, j] += score(part, *roles)
    return result


def listed(found: Sets) -> list[np.ndarray]:
    pairs = zip(found.vectors.numpy(), found.lengths.tolist(), strict=True)
    return [vectors[:length] for vectors, length in pairs]


def score(part, queries, context) -> float:
    if not hasattr(part, "memory"):
        return scan(queries, context, part.smooth, part.lse)
    layers = (part.memory.update, part.memory.gate)
    update, gate = ((x.weight.detach().numpy(), x.bias.detach().numpy()) for x in layers)
    return imram(queries, context, part.smooth, part.steps, update, gate)


@pytest.mark.parametrize(("name", "change"), SETTINGS)
def test_every_pair_as_by_hand(name: str, change: str) -> None:
    net = network(name, change)
    images, captions = sets([3, 1, 4, 2], 0), sets([5, 1, 2, 7, 3], 1)
    expected = brute_force(net, images, captions)
    found = net.scores(images, captions).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert expected.std() > 0.01


@pytest.mark.parametrize(("name", "change"), SETTINGS)
def test_padding_never_counts(name: str, change: str) -> None:
    net = network(name, change)
    lengths = ([3, 1, 2], [4, 2, 5, 1])
    plain = net.scores(sets(lengths[0], 0, fill=0), sets(lengths[1], 1, fill=0))
    wide = net.scores(
        sets(lengths[0], 0, width=9, fill=float("nan")), sets(lengths[1], 1, width=8, fill=1e6)
    )
    torch.testing.assert_close(wide, plain, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", ["scan-t2i", "scan-i2t", "imram"])
def test_chunks_give_the_same_scores_and_gradients(name: str, monkeypatch) -> None:
    found = []
    for cells in (1, 150, 1 << 22):
        monkeypatch.setattr(cross_attention, "CELLS", cells)
        net = network(name)
        images, captions = sets([3, 1, 2], 0), sets([4, 2, 5, 1, 3], 1)
        images.vectors.requires_grad_()
        scores = net.scores(images, captions)
        (scores * torch.arange(15).view(3, 5)).sum().backward()
        grads = [p.grad for p in net.matching.parameters()]
        found.append([scores.detach(), images.vectors.grad, *grads])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-8)
    assert all(part.abs().sum() > 0 for part in found[0])


def test_the_same_set_on_both_sides_has_a_finite_gradient() -> None:
    for name in ("scan-t2i", "imram"):
        vectors = torch.zeros(2, 3, DIM, dtype=torch.double)
        vectors[0] = 1 / DIM**0.5
        vectors.requires_grad_()
        same = Sets(vectors, torch.tensor([3, 2]))
        network(name).scores(same, same).sum().backward()
        assert torch.isfinite(vectors.grad).all()


def test_towers_give_a_unit_vector_for_every_region_and_word() -> None:
    net = network("scan-t2i").float()
    images = net.embed_images(torch.randn(3, 4, 7), torch.tensor([4, 1, 2]))
    captions = net.embed_text(TextBatch(torch.randint(4, 20, (2, 5)), torch.tensor([5, 3])))
    for found, shape in ((images, (3, 4, DIM)), (captions, (2, 5, DIM))):
        assert found.vectors.shape == shape
        lengths = found.vectors.norm(dim=2)[found.mask]
        torch.testing.assert_close(lengths, torch.ones_like(lengths))
    assert net.scores(images, captions).shape == (3, 2)
    assert net.scores(captions, captions).shape == (2, 2)


def test_bigru_states_are_averaged() -> None:
    """Spec §2.6: words are the mean of both directions, so vectors have the joint size."""
    net = network("scan-i2t")
    assert net.text.dim == DIM
    assert net.text.gru.bidirectional


def test_sizes_of_the_papers() -> None:
    with torch.device("meta"):
        net, plain = (
            build_network(recipe, 2048, table_embedder(recipe, 100))
            for recipe in map(load_recipe, ("imram", "scan-t2i"))
        )
    sizes = {name: tuple(p.shape) for name, p in net.named_parameters() if "memory" in name}
    assert sizes["matching.t2i.memory.gate.weight"] == (1024, 2048)
    assert len(sizes) == 8
    assert not any("matching" in name for name, _ in plain.named_parameters())


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("scan-t2i", "joint.similarity.direction=both", "input should be 't2i' or 'i2t'"),
        ("imram", "joint.similarity.lse=5", r"similarity of kind imram has no field 'lse' \(scan"),
        ("scan-t2i", "image.pooling=max", "uses no pooling"),
        ("scan-t2i", "text.pooling=mean", "uses no pooling"),
        ("scan-t2i", "image.feature=efficientnet-lite2/global", "one vector per image"),
        ("scan-t2i", "joint.dim=8", r"text\.projection=true"),
    ],
)
def test_settings_that_do_not_go_together(name: str, change: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        network(name, change)


def test_one_vector_per_image_is_refused() -> None:
    with pytest.raises(PolyglanceError, match="cross-attention needs several"):
        network("scan-t2i").embed_images(torch.randn(2, 7))


def test_without_attention_there_are_vectors() -> None:
    recipe = load_recipe("vsepp", parse_overrides(SMALL))
    assert isinstance(build_network(recipe, 7, table_embedder(recipe, 20)), TwoTower)
