"""Images per second of a backbone in eager torch and under onnxruntime, in one run.

python benchmarks/features.py FOLDER [--images 64] [--backbone efficientnet-lite2]
"""

import argparse
import time
from pathlib import Path

import numpy as np

from polyglance.data.images import list_images, read_image
from polyglance.files import cache_dir
from polyglance.vision.backbones import DEFAULT, backbones
from polyglance.vision.lite import LiteBackbone


def rate(backbone: LiteBackbone, pixels: np.ndarray, batch_size: int) -> tuple[float, np.ndarray]:
    """(images per second, pooled vectors [n, dim]); the first batch is run twice, once untimed."""
    backbone(pixels[:batch_size])
    started = time.perf_counter()
    pooled = [
        backbone(pixels[i : i + batch_size]).pooled for i in range(0, len(pixels), batch_size)
    ]
    return len(pixels) / (time.perf_counter() - started), np.concatenate(pooled)


def main() -> None:
    """Time decoding and both engines on the first N pictures of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--backbone", default=DEFAULT, choices=backbones.list())
    options = parser.parse_args()
    lite = backbones.get(options.backbone)
    how = lite.preprocessing
    paths = list_images(options.folder)[: options.images]
    started = time.perf_counter()
    pixels = np.stack([how.apply(read_image(p, how.size)) for p in paths])
    decoding = len(paths) / (time.perf_counter() - started)
    engines = {name: LiteBackbone(lite, cache_dir(), name) for name in ("torch", "auto")}
    torch_rate, reference = rate(engines["torch"], pixels, options.batch_size)
    onnx_rate, pooled = rate(engines["auto"], pixels, options.batch_size)
    print(f"{lite.name}, {len(paths)} images, batches of {options.batch_size}")
    print(f"decoding (one thread)  {decoding:7.1f} images/s")
    print(f"eager torch            {torch_rate:7.1f} images/s")
    print(f"onnxruntime            {onnx_rate:7.1f} images/s")
    difference = np.abs(pooled - reference).max()
    print(f"ratio {onnx_rate / torch_rate:.2f}, largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
