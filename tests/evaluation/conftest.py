from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import polyglance.models
from polyglance.cli.evaluate import evaluate_command
from polyglance.data.dataset import CaptionedImage, Dataset, save_folder
from polyglance.errors import PolyglanceError


class FakeModel:
    """A vector for each photograph; a text "IMAGE words" gets that image's plus seeded noise."""

    similarity_name = "cosine"

    def __init__(self, images, languages=None, noise=0.0, seed=0):
        self.images, self.noise, self.seed = images, noise, seed
        self.asked = []
        if languages is not None:
            self.languages = languages

    def encode_dataset(self, dataset, cache=None, show_progress=None):
        return np.stack([self.images[photo.image] for photo in dataset.images])

    def encode_text(self, texts, language=None, *, show_progress=None):
        self.asked.append(language)
        vectors = []
        for text in texts:
            image = text.split(" ")[0]
            generator = np.random.default_rng([self.seed, crc32(text.encode())])
            vector = np.nan_to_num(self.images[image])
            vectors.append(vector + self.noise * generator.standard_normal(vector.shape))
        return np.array(vectors, np.float32)


def make_dataset(count=12, counts=None, kind="independent"):
    """`count` test photographs; `counts` says how many captions each language has on each."""
    photos = []
    for i in range(count):
        name = f"{i}.jpg"
        captions = {
            language: {kind: [f"{name} {language}{n}" for n in range(number)]}
            for language, number in (counts or {"en": 5}).items()
        }
        photos.append(CaptionedImage(name, "test", captions))
    return Dataset(photos, image_folder=Path("images"), name="toy")


def make_vectors(dataset, dimension=6, seed=0):
    generator = np.random.default_rng(seed)
    return {
        photo.image: generator.standard_normal(dimension).astype(np.float32)
        for photo in dataset.images
    }


@pytest.fixture
def toy():
    """A dataset of five English and one German caption a photograph, and a good model."""
    dataset = make_dataset(counts={"en": 5, "de": 1})
    return dataset, FakeModel(make_vectors(dataset), languages=["en", "de"], noise=0.6)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """The command on a dataset folder, with runs named NOISE-SEED in place of trained models."""
    dataset = make_dataset(counts={"en": 5, "de": 1})
    vectors = make_vectors(dataset)
    save_folder(tmp_path / "toy", dataset.images)

    class Loader:
        @staticmethod
        def load(path, trust=False, device="cpu"):
            noise, seed = path.name.split("-")
            return FakeModel(vectors, ["en"], float(noise), int(seed))

    monkeypatch.setattr(polyglance.models, "Model", Loader, raising=False)
    monkeypatch.setattr("polyglance.runtime.opening.check_model_folder", lambda _folder: None)
    app = typer.Typer()
    app.command()(evaluate_command)

    def run(*arguments, data=True):
        given = [*arguments, *(["--data", str(tmp_path / "toy")] if data else [])]
        result = CliRunner().invoke(app, given)
        if isinstance(result.exception, PolyglanceError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return run
