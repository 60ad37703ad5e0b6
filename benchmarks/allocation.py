"""Updates of an image network before and after glibc is told to keep freed memory, in one process.

    OMP_NUM_THREADS=1 python benchmarks/allocation.py [--size 160] [--batch 32] [--rounds 9]

Prints the CPU time of an update, the part of it in the kernel, page faults and the peak memory.
The setting cannot be undone, so the variants are not interleaved.
"""

import argparse
import os
import resource
from statistics import median

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as `polyglance` sets it

import torch

from polyglance.core.memory import keep_freed_memory, peak_memory
from polyglance.recipes.schema import BackboneRecipe, ImageRecipe
from polyglance.vision.image_network import build_image_network

FEATURE = "efficientnet-lite0/global"


def main() -> None:
    """Print a line per variant, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    backbone = BackboneRecipe(train="all", input_size=options.size)
    network = build_image_network(ImageRecipe(feature=FEATURE, backbone=backbone))
    assert network is not None
    images = torch.randint(256, (options.batch, options.size, options.size, 3), dtype=torch.uint8)
    trained = [one for one in network.parameters() if one.requires_grad]
    optimizer = torch.optim.Adam(trained)

    def update() -> tuple[float, float, int]:
        before = resource.getrusage(resource.RUSAGE_SELF)
        network(images)[0].sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        after = resource.getrusage(resource.RUSAGE_SELF)
        kernel = after.ru_stime - before.ru_stime
        return (
            after.ru_utime - before.ru_utime + kernel,
            kernel,
            after.ru_minflt - before.ru_minflt,
        )

    found = {}
    for name in ("default", "kept"):
        if name == "kept" and not keep_freed_memory():
            raise SystemExit("this system has no glibc, or MALLOC_… is set")
        rows = [update() for _ in range(options.rounds + 2)][2:]
        total, kernel, faults = (median(column) for column in zip(*rows, strict=True))
        found[name] = total
        peak = (peak_memory() or 0) / 1e6
        print(
            f"{name:8} {1000 * total:6.0f} ms CPU, {1000 * kernel:5.0f} ms of it in the kernel, "
            f"{faults:6.0f} page faults, peak {peak:,.0f} MB"
        )
    print(f"ratio {found['default'] / found['kept']:.2f}")


if __name__ == "__main__":
    main()
