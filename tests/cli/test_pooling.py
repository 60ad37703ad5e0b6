import pytest
import torch
from PIL import Image

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.pooling import build_pooling
from polyglance.pooling.plot import curves, learned
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import TableEmbedder, Vocabulary


def save_model(folder, *changes, languages=("",)):
    small = [
        "image.feature=x/grid",
        "text.embedder.word_dim=4",
        "text.encoder.hidden=4",
        "joint.dim=4",
        *changes,
    ]
    recipe = load_recipe("nce", parse_overrides(small), shared=True)
    words = TableEmbedder(recipe, {code: Vocabulary(["dog", "hund"]) for code in languages})
    Model(recipe, words, 6, ["de", "en"]).save(folder)
    return folder


def test_picture_and_table(run, tmp_path):
    model = save_model(tmp_path / "m", "image.pooling=gpo", "text.pooling=gpo-interpolation")
    out = tmp_path / "deep" / "c.png"
    result = run("pooling", model, "--out", out, "--sizes", "4, 2,4")
    with Image.open(out) as picture:
        assert picture.width > 2 * picture.height
    rows = [line.split() for line in result.stdout.splitlines()]
    # Interpolated scores are equal before training: the mean.
    masses = ["0.250", "0.750", "0.750", "0.250", "0.250"]
    assert ["text:", "gpo-interpolation", "4", *masses] in rows
    assert [row[1:3] for row in rows if row[:1] == ["image:"]] == [["gpo", "2"], ["gpo", "4"]]


@pytest.mark.parametrize("pooling", ["gpo-per-dimension", "fspool"])
def test_bands_over_dimensions(run, tmp_path, pooling):
    model = save_model(tmp_path / "m", f"image.pooling={pooling}", "text.pooling=max")
    result = run("pooling", model, "--out", tmp_path / "c.PNG")
    assert "text" not in result.stdout
    network = Model.load(model).network
    (line,) = curves(learned(network.image)["pooling"], [3])
    theta = network.image.pooling.coefficients(torch.tensor([3]))[0]
    assert line.mean == theta.mean(1).tolist()
    assert min(line.spread) > 0


def test_a_panel_for_every_language(run, tmp_path):
    changes = ["text.towers=per-language", "sampling.kind=languages"]
    changes += ["text.pooling=gpo", "image.feature=x/global"]
    model = save_model(tmp_path / "m", *changes, "image.pooling=gpo", languages=("de", "en"))
    result = run("pooling", model, "--out", tmp_path / "c.png", "--sizes", "3")
    assert [line.split()[:3] for line in result.stdout.splitlines() if "gpo" in line] == [
        ["text", "de:", "gpo"],
        ["text", "en:", "gpo"],
    ]


def test_mass() -> None:
    (line,) = curves(build_pooling("gpo", 4), [5])
    assert line.mass(slice(None)) == pytest.approx(1)
    assert line.mass(slice(1)) == line.mean[0]


@pytest.mark.parametrize(
    ("pooling", "arguments", "message"),
    [
        ("mean", ["--out", "c.png"], "no learned coefficients by rank; train with"),
        ("gpo-features", ["--out", "c.png"], "'gpo-features' of images"),
        ("gpo", ["--out", "c.svg"], "end in .png"),
        ("gpo", ["--out", "c.png", "--sizes", "3,x"], "expected comma-separated numbers"),
        ("gpo", ["--out", "c.png", "--sizes", "0,3"], "expected comma-separated numbers"),
        ("gpo", ["--out", "c.png", "--sizes", ","], "expected comma-separated numbers"),
        ("gpo", ["--out", "c.png", "--sizes", "9" * 5000], "from 1 to 1000"),
    ],
)
def test_mistakes(run, tmp_path, monkeypatch, pooling, arguments, message):
    monkeypatch.chdir(tmp_path)
    model = save_model(tmp_path / "m", f"image.pooling={pooling}", "text.pooling=max")
    with pytest.raises(PolyglanceError, match=message):
        run("pooling", model, *arguments)
    assert not (tmp_path / "c.png").exists()


def test_no_model(run, tmp_path):
    with pytest.raises(PolyglanceError, match="not a model"):
        run("pooling", tmp_path, "--out", tmp_path / "c.png")
