import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import BackboneRecipe, ImageRecipe
from polyglance.vision.image_network import ImageNetwork, build_image_network


def network(feature="efficientnet-lite0/grid", **settings):
    torch.manual_seed(1)
    settings = {"input_size": 64, **settings}
    found = build_image_network(ImageRecipe(feature=feature, backbone=BackboneRecipe(**settings)))
    assert isinstance(found, ImageNetwork)
    return found


def seen(count=3, size=64):
    values = np.random.default_rng(0).integers(0, 256, (count, size, size, 3), np.uint8)
    return torch.from_numpy(values)


def trained_stages(found):
    return [any(p.requires_grad for p in stage.parameters()) for stage in found.stages]


def test_features_are_mean_cells_or_a_smaller_grid():
    images = seen()
    cells, lengths = network()(images)
    assert cells.shape == (3, 4, 1280)
    assert lengths.tolist() == [4, 4, 4]
    (mean,) = network("efficientnet-lite0/global")(images)
    torch.testing.assert_close(mean, cells.mean(1))
    one, _ = network("efficientnet-lite0/grid1")(images)
    torch.testing.assert_close(one[:, 0], mean)
    larger, _ = network(input_size=512)(seen(1, 512))
    assert larger.shape == (1, 256, 1280)


def test_of_several_parts_the_mean_counts():
    found, parts = network("efficientnet-lite0/global", whole=True, chunk=3), seen(8)
    assert found.preprocessing.shape == (2, 3, 64, 64)
    (mean,) = found(parts.unflatten(0, (4, 2)))
    (each,) = found(parts)
    torch.testing.assert_close(mean, each.unflatten(0, (4, 2)).mean(1))
    with pytest.raises(ValueError, match=r"backbone\.whole averages"):
        network("efficientnet-lite0/grid", whole=True)


def test_pixels_are_standardised_as_the_network_wants_them():
    found = network("efficientnet-lite0/global")
    images = seen()
    pixels = (images.permute(0, 3, 1, 2).float() - 127) / 128
    torch.testing.assert_close(found(images)[0], found.grid(pixels).mean((2, 3)))


@pytest.mark.parametrize(
    ("train", "stages"), [("none", [0, 0, 0, 0, 0]), ("last", [0, 0, 0, 0, 1]), ("all", [1] * 5)]
)
def test_what_is_trained(train, stages):
    assert trained_stages(network(train=train)) == list(map(bool, stages))


def test_depthwise_kernels_can_be_left_out():
    found = network(train="last", depthwise=False)
    trainable = {id(one) for one in found.parameters() if one.requires_grad}
    found.thaw(9, trainable)
    last = found.stages[-1]
    parts = [part for part in last.modules() if hasattr(part, "groups")]
    assert {part.groups > 1 for part in parts} == {True, False}
    for part in parts:
        assert part.weight.requires_grad == (part.groups == 1)
    ours = sum(part.weight.numel() for part in parts if part.groups > 1)
    assert ours / sum(one.numel() for one in last.parameters()) < 0.06


def test_stages_are_thawed_one_after_another_from_the_last():
    found = network(frozen_epochs=1, stage_epochs=2)
    trainable = {id(parameter) for parameter in found.parameters()}
    counts = []
    for epoch in (0, 1, 2, 3, 5, 8, 9):
        found.thaw(epoch, trainable)
        counts.append(sum(trained_stages(found)))
    assert counts == [0, 1, 1, 2, 3, 4, 5]
    found.thaw(9, {id(next(found.stages[4].parameters()))})
    assert [p.requires_grad for p in found.parameters()].count(True) == 1


def test_batch_norm_never_changes():
    found = network().train()
    assert not found.training
    before = {name: value.clone() for name, value in found.named_buffers()}
    assert {name.rpartition(".")[2] for name in before} >= {"gain", "shift", "mean", "variance"}
    found(seen())[0].sum().backward()
    assert all(torch.equal(value, before[name]) for name, value in found.named_buffers())


@pytest.mark.parametrize("train", ["last", "all"])
@pytest.mark.parametrize("chunk", [1, 2])
def test_chunks_give_the_same_gradient(train, chunk):
    whole, parts = network(train=train), network(train=train, chunk=chunk)
    for one in (whole, parts):
        features, _ = one(seen())
        (features.flatten(1) @ features.flatten(1).T).softmax(1).diagonal().sum().backward()
    for (name, a), b in zip(whole.named_parameters(), parts.parameters(), strict=True):
        assert (a.grad is None) == (b.grad is None), name
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-4)


def test_a_grid_that_is_too_fine_is_an_error():
    with pytest.raises(PolyglanceError, match=r"only 2×2; set image\.backbone\.input_size=96"):
        network("efficientnet-lite0/grid3")
