import numpy as np
import pytest

from polyglance.vision.networks.backbones import BackboneOutput
from polyglance.vision.networks.preprocess import Preprocessing


class Blocks:
    """A stand-in for a network: the grid is the mean colour of 4×4 blocks of 24 pixels."""

    preprocessing = Preprocessing(24, 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))

    def __init__(self, identity="blocks"):
        self.identity = identity
        self.seen = []

    def dims(self):
        return 3, 3

    def __call__(self, pixels):
        self.seen.append(len(pixels))
        grid = pixels.reshape(-1, 3, 6, 4, 6, 4).mean((3, 5)).transpose(0, 2, 3, 1)
        return BackboneOutput(grid.mean((1, 2)), grid)


@pytest.fixture
def blocks(monkeypatch):
    """Makes `blocks` the network behind every extractor name."""
    backbone = Blocks()
    monkeypatch.setattr(
        "polyglance.vision.extraction.extract.open_backbone", lambda _name, _cache: backbone
    )
    return backbone


@pytest.fixture
def pictures(tmp_path):
    """Twenty small PNGs of noise, 40×30."""
    from PIL import Image

    rng = np.random.default_rng(1)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(20):
        noise = rng.integers(0, 256, (30, 40, 3), np.uint8)
        Image.fromarray(noise).save(folder / f"{number:02}.png")
    return sorted(folder.iterdir())
