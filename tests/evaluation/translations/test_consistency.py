"""CLC-A and CLC-C: means, the network of 352 numbers, its learning, against plain versions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polyglance.evaluation.translations.consistency import (
    HIDDEN,
    Consistency,
    average_scores,
    fill_missing,
    fit_consistency,
    matching_loss,
)
from polyglance.evaluation.translations.literal_consistency import LiteralConsistency, fit_literal

SHAPES = st.tuples(*(st.integers(1, 4) for _ in range(3)))


@given(st.data(), SHAPES)
@settings(deadline=None, max_examples=50)
def test_means_leave_out_missing_languages(data, shape):
    scores = data.draw(hnp.arrays(np.float32, shape, elements=st.integers(-9, 9)))
    present = data.draw(hnp.arrays(bool, (shape[2], shape[0])))
    present[:, 0] |= ~present.any(1)
    found, filled = average_scores(scores, present), fill_missing(scores, present)
    for m in range(shape[2]):
        mean = scores[present[m], :, m].mean(0)
        np.testing.assert_allclose(found[:, m], mean, rtol=1e-5, atol=1e-5)
        for language in range(shape[0]):
            wanted = scores[language, :, m] if present[m, language] else mean
            np.testing.assert_allclose(filled[language, :, m], wanted, rtol=1e-5, atol=1e-5)


def test_ten_languages_have_352_parameters():
    assert Consistency.uniform(10).parameters == 352


def test_the_start_ranks_as_the_mean():
    scores = np.random.default_rng(0).standard_normal((5, 6, 7)).astype(np.float32)
    present = np.ones((7, 5), bool)
    start = Consistency.uniform(5, shift=-float(scores.min()))
    found = start.combine(scores, present) - start.shift
    np.testing.assert_allclose(found, average_scores(scores, present), rtol=1e-4, atol=1e-5)


def plain_loss(scores, owner):
    """Top-10 hinges of margin .05 per anchor, one by one (spec §5.2)."""
    total = []
    for caption, image in enumerate(owner):
        positive = scores[image, caption]
        others = np.delete(scores[:, caption], image)
        theirs = scores[image, owner != image]
        sides = [np.sort(np.maximum(0.05 - positive + side, 0))[-10:] for side in (others, theirs)]
        total.append(1.5 * sides[0].mean() + sides[1].mean())
    return np.mean(total)


@pytest.mark.parametrize(("images", "each"), [(3, 1), (15, 1), (12, 2)])
def test_the_loss_is_that_of_all_triplets(images, each):
    owner = np.repeat(np.arange(images), each)
    scores = np.random.default_rng(1).random((images, len(owner))).astype(np.float32)
    found = matching_loss(torch.from_numpy(scores), torch.from_numpy(owner))
    assert float(found) == pytest.approx(plain_loss(scores, owner), rel=1e-5)


def reference_fit(scores, owner):
    """The whole network |L| → 32 → 1, no unit left out, divided by what it makes of ones."""
    inputs = torch.from_numpy(scores - scores.min()).permute(1, 2, 0)
    first = torch.full((len(scores), HIDDEN), 1 / len(scores), requires_grad=True)
    second = torch.full((HIDDEN,), 1 / HIDDEN, requires_grad=True)
    optimizer = torch.optim.Adam([first, second], lr=1e-2)
    outputs = []
    for _ in range(31):
        output = (inputs @ first).relu() @ second / (first.sum(0).relu() @ second)
        loss = matching_loss(output, torch.from_numpy(owner))
        outputs.append((float(loss.detach()), output.detach().numpy()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return min(outputs, key=lambda one: one[0])[1]


def noisy(images=40, noise=(0.2, 3.0), seed=0):
    """Scores in two languages of two captions each, the second language being mostly noise."""
    generator = np.random.default_rng(seed)
    owner = np.repeat(np.arange(images), 2)
    clean = (np.arange(images)[:, None] == owner).astype(np.float32)
    parts = [clean + level * generator.standard_normal(clean.shape) for level in noise]
    return (np.stack(parts) / 4).astype(np.float32), owner


def test_one_unit_stands_for_all_32():
    scores, owner = noisy()
    found = fit_consistency(scores, owner).combine(scores, np.ones((len(owner), 2), bool))
    np.testing.assert_allclose(found, reference_fit(scores, owner), rtol=1e-3, atol=1e-4)


def test_learning_finds_the_language_to_trust():
    learnt = fit_consistency(*noisy())
    assert learnt.shares[0] > 0.7
    assert np.abs(learnt.shares).sum() == pytest.approx(1)
    scores, owner = noisy(seed=1)
    present = np.ones((len(owner), 2), bool)
    after, before = learnt.combine(scores, present), average_scores(scores, present)
    hits = [np.mean(joint.argmax(0) == owner) for joint in (before, after)]
    assert hits[1] > hits[0] + 0.05


def test_scores_that_often_violate_the_margin_do_not_make_all_equal():
    scores, owner = noisy(noise=(1.0, 1.5), seed=2)
    present = np.ones((len(owner), 2), bool)
    learnt = fit_consistency(scores, owner)
    losses = [
        float(matching_loss(torch.from_numpy(np.asarray(joint)), torch.from_numpy(owner)))
        for joint in (average_scores(scores, present), learnt.combine(scores, present))
    ]
    assert losses[0] > 2.5 * 0.05  # what equal scores would cost
    assert losses[1] < losses[0]
    assert learnt.combine(scores, present).std() > 0.5 * scores.mean(0).std()
    assert learnt.shares[0] > learnt.shares[1] > 0


def test_the_literal_form_has_352_parameters_and_starts_as_the_mean():
    assert LiteralConsistency.uniform(10).parameters == 352
    scores = np.random.default_rng(0).random((5, 6, 7)).astype(np.float32)
    present = np.ones((7, 5), bool)
    found = LiteralConsistency.uniform(5).combine(scores, present)
    np.testing.assert_allclose(found, average_scores(scores, present), rtol=1e-4, atol=1e-5)


def test_the_literal_units_stay_equal_and_follow_the_plain_gradient():
    """Against Adam on a network of torch's own layers, without any of our shortcuts."""
    scores, owner = noisy(20, (0.2, 1.0, 3.0, 0.5, 0.5))
    found = fit_literal(scores, owner, 7)
    shift = torch.tensor(max(0.0, -float(scores.min())))
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 32, bias=False), torch.nn.ReLU(), torch.nn.Linear(32, 1, bias=False)
    )
    torch.nn.init.constant_(net[0].weight, 1 / 5)
    torch.nn.init.constant_(net[2].weight, 1 / 32)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    inputs = torch.from_numpy(scores).permute(1, 2, 0) + shift
    for _ in range(7):
        loss = matching_loss(net(inputs)[..., 0], torch.from_numpy(owner))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    np.testing.assert_allclose(found.first, net[0].weight.detach(), atol=1e-5)
    np.testing.assert_allclose(found.second, net[2].weight.detach()[0], atol=1e-5)
    np.testing.assert_allclose(found.first, np.tile(found.first[:1], (32, 1)), atol=1e-6)
    with torch.inference_mode():
        wanted = net(inputs)[..., 0].numpy()
    present = np.ones((len(owner), 5), bool)
    np.testing.assert_allclose(found.combine(scores, present), wanted, rtol=1e-4, atol=1e-5)


def test_scaled_literal_weights_rank_much_as_the_reduced_ones():
    scores, owner = noisy()
    literal = fit_literal(scores, owner, scaled=True)
    reduced = fit_consistency(scores, owner)
    np.testing.assert_allclose(literal.shares, reduced.shares, atol=0.05)
