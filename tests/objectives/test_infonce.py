"""InfoNCE as recipes name it, against numpy: values, the bound of the temperature, the mask."""

import numpy as np
import pytest
import torch

from polyglance.objectives import build_objective, info_nce
from polyglance.objectives.objective import InfoNCE
from polyglance.recipes.schema import InfoNceRecipe

SCORES = np.array(
    [
        [0.31, 0.28, -0.10, 0.05],
        [0.02, 0.40, 0.38, -0.20],
        [0.15, 0.33, 0.29, 0.30],
        [-0.40, 0.11, 0.27, 0.22],
    ]
)
IMAGE, DISTINCT = np.array([7, 3, 3, 5]), np.array([0, 1, 2, 3])


def by_numpy(scores: np.ndarray, temperature: float, ignore: np.ndarray | None = None) -> float:
    """−½ mean(log softmax of rows at the diagonal + that of columns), in float64."""
    size, losses = len(scores), []
    for matrix, skip in ((scores, ignore), (scores.T, None if ignore is None else ignore.T)):
        for i in range(size):
            kept = [j for j in range(size) if j == i or skip is None or not skip[i, j]]
            row = matrix[i, kept] / temperature
            top = row.max()
            logarithm = top + np.log(np.exp(row - top).sum())
            losses.append(logarithm - matrix[i, i] / temperature)
    return float(np.mean(losses))


def objective(**changes: object) -> InfoNCE:
    made = build_objective(InfoNceRecipe().model_copy(update=changes))
    assert isinstance(made, InfoNCE)
    return made


def value(made: InfoNCE, image: np.ndarray = DISTINCT) -> float:
    return float(made(torch.from_numpy(SCORES), torch.from_numpy(image)).detach())


@pytest.mark.parametrize(
    ("temperature", "golden"),
    [
        *[(0.01, 3.28119), (0.02, 1.74576), (0.06, 0.94508)],
        *[(0.5, 1.14846), (1.0, 1.25080), (3.0, 1.33701)],
    ],
)
def test_golden_values(temperature: float, golden: float) -> None:
    """The values are from decimals of fifty digits."""
    expected = by_numpy(SCORES, temperature)
    assert expected == pytest.approx(golden, abs=5e-6)
    assert float(info_nce(torch.from_numpy(SCORES), temperature)) == pytest.approx(expected)
    assert value(objective(temperature=temperature)) == pytest.approx(expected, rel=1e-5)


def test_the_default_temperature() -> None:
    assert value(objective()) == pytest.approx(by_numpy(SCORES, 0.06), rel=1e-5)


@pytest.mark.parametrize(
    ("temperature", "used"),
    [(1e-6, 0.01), (0.005, 0.01), (0.0099, 0.01), (0.0101, 0.0101), (0.011, 0.011), (0.4, 0.4)],
)
def test_the_temperature_is_bounded_by_a_hundredth(temperature: float, used: float) -> None:
    """CLIP bounds 1/temperature by 100 (Radford et al. 2021, §2.5)."""
    assert value(objective(temperature=temperature)) == pytest.approx(
        by_numpy(SCORES, used), rel=1e-5
    )


def test_a_temperature_that_was_learned_is_bounded_too() -> None:
    made = objective()
    with torch.no_grad():
        made.log_temperature.fill_(float(np.log(0.001)))
    assert value(made) == pytest.approx(by_numpy(SCORES, 0.01), rel=1e-5)


def test_the_gradient_of_the_temperature_is_its_derivative() -> None:
    made = objective(temperature=0.06)
    made(torch.from_numpy(SCORES), torch.arange(4)).backward()
    step = 1e-5
    ahead, behind = (by_numpy(SCORES, 0.06 * np.exp(s)) for s in (step, -step))
    assert made.log_temperature.grad is not None
    assert float(made.log_temperature.grad) == pytest.approx(
        (ahead - behind) / (2 * step), rel=1e-4
    )


def test_a_temperature_below_its_bound_has_no_gradient() -> None:
    made = objective(temperature=0.005)
    made(torch.from_numpy(SCORES), torch.arange(4)).backward()
    assert made.log_temperature.grad is not None
    assert float(made.log_temperature.grad) == 0.0


def test_a_fixed_temperature_is_no_part_of_the_gradient() -> None:
    made = objective(learn_temperature=False, temperature=0.2)
    scores = torch.from_numpy(SCORES).requires_grad_()
    loss = made(scores, torch.arange(4))
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.abs().sum() > 0
    assert made.log_temperature.grad is None
    assert float(loss.detach()) == pytest.approx(by_numpy(SCORES, 0.2), rel=1e-5)
    assert made.state_dict()["log_temperature"].item() == pytest.approx(np.log(0.2))


@pytest.mark.parametrize("temperature", [0.02, 0.06, 1.0])
def test_the_mask_leaves_out_other_captions_of_an_image(temperature: float) -> None:
    same = IMAGE[:, None] == IMAGE[None, :]
    masked, plain = by_numpy(SCORES, temperature, same), by_numpy(SCORES, temperature)
    assert masked < plain - 0.01
    given = objective(mask_same_image=True, temperature=temperature)
    assert value(given, IMAGE) == pytest.approx(masked, rel=1e-5)
    assert value(given) == pytest.approx(plain, rel=1e-5)
    assert value(objective(temperature=temperature), IMAGE) == pytest.approx(plain, rel=1e-5)


def test_a_mask_need_not_be_symmetric() -> None:
    ignore = np.zeros((4, 4), bool)
    ignore[2, 1] = ignore[0, 3] = ignore[1, 1] = True
    found = float(info_nce(torch.from_numpy(SCORES), 0.06, torch.from_numpy(ignore)))
    assert found == pytest.approx(by_numpy(SCORES, 0.06, ignore))


def test_one_image_alone_has_nothing_to_learn() -> None:
    given = objective(mask_same_image=True)
    assert value(given, np.zeros(4, np.int64)) == pytest.approx(0)


def test_warming_up_changes_nothing() -> None:
    made, scores, image = objective(), torch.from_numpy(SCORES), torch.arange(4)
    with torch.no_grad():
        assert made(scores, image, True).equal(made(scores, image))
