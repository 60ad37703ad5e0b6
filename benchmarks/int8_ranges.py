"""Computes the activation ranges of `efficientnet-liteN-int8`, as JSON.

    python benchmarks/int8_ranges.py DATA > src/polyglance/vision/networks/int8_ranges.json

They are the smallest and largest values over some training images, to three digits; values beyond
are clipped.
"""

import json
import sys
from pathlib import Path

import numpy as np

from polyglance.data import load_dataset
from polyglance.data.images.read import reading
from polyglance.storage.files import cache_dir
from polyglance.vision.networks.backbones import backbones
from polyglance.vision.networks.int8 import quantised_tensors
from polyglance.vision.networks.lite import LiteBackbone

IMAGES = 64
NETWORKS = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")


def observed(name: str, paths: list[Path]) -> list[tuple[float, float]]:
    """Smallest and largest value of each quantised tensor over images."""
    import onnx
    import onnxruntime

    backbone = LiteBackbone(backbones.get(name), cache_dir())
    model = onnx.load_from_string(backbone.to_onnx())
    tensors = quantised_tensors(model.graph)
    known = {one.name for one in model.graph.output}
    extra = [onnx.ValueInfoProto(name=one) for one in tensors[1:] if one not in known]
    model.graph.output.extend(extra)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    low, high = np.full(len(tensors), np.inf), np.full(len(tensors), -np.inf)
    for path in paths:
        with reading(path, backbone.preprocessing.short_side) as image:
            pixels = backbone.preprocessing.apply(image)[None]
        found = [pixels, *session.run(tensors[1:], {tensors[0]: pixels})]
        low = np.minimum(low, [one.min() for one in found])
        high = np.maximum(high, [one.max() for one in found])
    return [(float(f"{a:.3g}"), float(f"{b:.3g}")) for a, b in zip(low, high, strict=True)]


def main() -> None:
    """Print the JSON of all networks."""
    paths = load_dataset(sys.argv[1]).split("train").paths()
    chosen = [paths[i] for i in np.random.default_rng(0).permutation(len(paths))[:IMAGES]]
    print(json.dumps({name: observed(name, chosen) for name in NETWORKS}))


if __name__ == "__main__":
    main()
