"""timm and torchvision are mimicked by their documented interface; transformers is real."""

import json
import sys
import types

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.extract import open_backbone
from polyglance.vision.networks.external import as_output, slug

torch = pytest.importorskip("torch")


def small_net():
    """A convolutional classifier of 32 pixels: map [b, 6, 4, 4], ten classes."""
    torch.manual_seed(0)
    net = torch.nn.Sequential()
    net.add_module("features", torch.nn.Conv2d(3, 6, 8, 8))
    net.add_module("avgpool", torch.nn.AdaptiveAvgPool2d(1))
    net.add_module("flat", torch.nn.Flatten())
    net.add_module("fc", torch.nn.Linear(6, 10))
    return net


PIXELS = np.random.default_rng(0).normal(size=(2, 3, 32, 32)).astype(np.float32)


def conv_map(net):
    with torch.no_grad():
        return net.features(torch.from_numpy(PIXELS)).numpy()


class TimmNet(torch.nn.Module):
    def __init__(self, output):
        super().__init__()
        self.net, self.output = small_net(), output
        self.output_fmt = output if output != "NLC" else None
        self.num_prefix_tokens = 1

    def forward_features(self, pixels):
        features = self.net.features(pixels)
        if self.output == "NHWC":
            return features.permute(0, 2, 3, 1)
        if self.output == "NLC":
            tokens = features.flatten(2).transpose(1, 2)
            return torch.cat([tokens.new_full((len(tokens), 1, 6), 9.0), tokens], 1)
        return features

    def forward_head(self, features, pre_logits):
        assert pre_logits
        return torch.full((len(features), 7), 2.0)


@pytest.fixture
def timm(monkeypatch):
    calls = []

    def create_model(name, **options):
        calls.append((name, options))
        if name == "nope":
            raise RuntimeError("Unknown model (nope)\nmore")
        return TimmNet({"swin": "NHWC", "vit": "NLC"}.get(name, "NCHW"))

    def resolve_model_data_config(_model):
        return {
            "input_size": (3, 32, 32),
            "interpolation": "bilinear",
            "mean": (0.5, 0.4, 0.2),
            "std": (0.1, 0.2, 0.4),
            "crop_pct": 0.8,
            "crop_mode": "center",
        }

    data = types.SimpleNamespace(resolve_model_data_config=resolve_model_data_config)
    stub = types.SimpleNamespace(create_model=create_model, data=data)
    monkeypatch.setitem(sys.modules, "timm", stub)
    monkeypatch.setitem(sys.modules, "timm.data", data)
    return calls


@pytest.mark.parametrize("name", ["resnet", "swin", "vit"])
def test_timm(timm, tmp_path, name):
    (tmp_path / "w.pth").touch()
    backbone = open_backbone(f"timm:{name}@{tmp_path / 'w.pth'}", tmp_path)
    called, options = timm[0]
    assert called == name
    assert options["pretrained"] is True
    assert options["num_classes"] == 0
    assert options["pretrained_cfg_overlay"] == {"file": str(tmp_path / "w.pth")}
    assert backbone.preprocessing.size == 32
    assert backbone.preprocessing.crop == 0.8
    assert backbone.preprocessing.interpolation == "bilinear"
    np.testing.assert_allclose(backbone.preprocessing.mean, (127.5, 102, 51))
    assert backbone.dims() == (7, 6)
    encoded = backbone(PIXELS)
    assert (encoded.pooled == 2).all()
    expected = conv_map(backbone.module.net).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(encoded.grid, expected, atol=1e-6)
    assert backbone.identity.startswith(f"timm-{name}-")


def test_loading_errors_have_a_remedy(timm, tmp_path, monkeypatch):
    with pytest.raises(PolyglanceError, match=r"timm:nope: .*Unknown model \(nope\)\); check"):
        open_backbone("timm:nope", tmp_path)
    with pytest.raises(PolyglanceError, match=r"no such weights file .*none\.pth"):
        open_backbone("timm:resnet@none.pth", tmp_path)
    for package in ("timm", "torchvision", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
        (tmp_path / "config.json").touch()
        with pytest.raises(PolyglanceError, match=f"run 'pip install {package}'"):
            open_backbone(f"{package}:{tmp_path}", tmp_path)
    with pytest.raises(PolyglanceError, match=r"pass a local folder with config\.json"):
        open_backbone(f"transformers:{tmp_path / 'none'}", tmp_path)


@pytest.fixture
def torchvision(monkeypatch):
    preset = types.SimpleNamespace(
        crop_size=[32],
        resize_size=[40],
        mean=[0.5, 0.4, 0.2],
        std=[0.1, 0.2, 0.4],
        interpolation=types.SimpleNamespace(value="bilinear"),
    )
    weights = types.SimpleNamespace(DEFAULT=types.SimpleNamespace(transforms=lambda: preset))
    models = types.SimpleNamespace(
        get_model=lambda _name, weights: small_net(), get_model_weights=lambda _name: weights
    )
    monkeypatch.setitem(sys.modules, "torchvision", types.SimpleNamespace(models=models))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)


@pytest.mark.parametrize("ending", ["pth", "safetensors"])
def test_torchvision(torchvision, tmp_path, ending):
    net = small_net()
    with torch.no_grad():
        net.features.weight.mul_(3)
    path = tmp_path / f"w.{ending}"
    if ending == "pth":
        torch.save(net.state_dict(), path)
    else:
        from safetensors.torch import save_file

        save_file(net.state_dict(), path)
    backbone = open_backbone(f"torchvision:resnet@{path}", tmp_path)
    assert backbone.preprocessing.crop == 0.8
    assert backbone.dims() == (6, 6)
    encoded = backbone(PIXELS)
    np.testing.assert_allclose(encoded.grid, conv_map(net).transpose(0, 2, 3, 1), atol=1e-6)
    np.testing.assert_allclose(encoded.pooled, conv_map(net).mean((2, 3)), atol=1e-6)
    other = open_backbone("torchvision:resnet", tmp_path)
    assert other.identity != backbone.identity


def test_torchvision_weights_of_another_network(torchvision, tmp_path):
    torch.save({"x": torch.zeros(1)}, tmp_path / "w.pth")
    with pytest.raises(PolyglanceError, match="cannot load the network"):
        open_backbone(f"torchvision:resnet@{tmp_path / 'w.pth'}", tmp_path)


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    """A random ViT of 32 pixels and 8-pixel patches in a local folder."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("vit")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=32,
        patch_size=8,
    )
    model = transformers.ViTModel(config, add_pooling_layer=False).eval()
    model.save_pretrained(folder)
    processor = {
        "size": {"height": 32, "width": 32},
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "resample": 2,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder, model


def test_transformers(vit, tmp_path, capfd):
    folder, model = vit
    backbone = open_backbone(f"transformers:{folder}", tmp_path)
    assert capfd.readouterr() == ("", "")
    assert backbone.preprocessing.squash
    assert backbone.preprocessing.interpolation == "bilinear"
    assert backbone.dims() == (16, 16)
    with torch.no_grad():
        hidden = model(pixel_values=torch.from_numpy(PIXELS)).last_hidden_state.numpy()
    encoded = backbone(PIXELS)
    np.testing.assert_allclose(encoded.pooled, hidden[:, 0], atol=1e-5)
    np.testing.assert_allclose(encoded.grid, hidden[:, 1:].reshape(2, 4, 4, 16), atol=1e-5)
    # The random pooler that AutoModel adds to these weights must not change who they are.
    assert open_backbone(f"transformers:{folder}", tmp_path).identity == backbone.identity


def test_transformers_with_lost_weights_or_preprocessing(vit, tmp_path):
    from safetensors.torch import load_file, save_file

    folder, _ = vit
    for name in ("config.json", "preprocessor_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    state = load_file(folder / "model.safetensors")
    lost = next(name for name in state if "layer" in name and name.endswith("weight"))
    del state[lost]
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(PolyglanceError, match="the weights lack"):
        open_backbone(f"transformers:{tmp_path}", tmp_path)
    (tmp_path / "preprocessor_config.json").write_text('{"size": 32}')
    with pytest.raises(PolyglanceError, match="cannot read the preprocessing"):
        open_backbone(f"transformers:{tmp_path}", tmp_path)


def test_tokens_without_a_class_token_are_averaged():
    tokens = torch.arange(9.0).reshape(1, 9, 1)
    encoded = as_output(None, tokens)
    assert encoded.pooled.tolist() == [[4.0]]
    assert encoded.grid[0, :, :, 0].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_names_become_folders():
    assert slug("transformers:/a/b c/ViT é") == "transformers-ViT-"
    assert slug("timm:vit.x@/w/y.pth") == "timm-vit.x"
