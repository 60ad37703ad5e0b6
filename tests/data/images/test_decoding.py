"""Memory of decoded images: bounded for one, and for all threads together."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.data.images import decoding, rgb
from polyglance.data.images import read as images
from polyglance.data.images.decoding import Budget, decoding_bytes
from polyglance.data.images.read import read_image, reading
from polyglance.data.info import find_unreadable
from polyglance.errors import ImageProblem
from tests.hostile.pictures import sixteen_bit_png

PEAK = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from polyglance.data.images.read import reading
from polyglance.core.memory import reset_peak_memory, peak_memory
def read(path):
    with reading(Path(path)) as image:
        return image.resize((4, 4)).getpixel((0, 0))
reset_peak_memory()
before = peak_memory()
with ThreadPoolExecutor(8) as pool:
    found = set(pool.map(read, [sys.argv[1]] * int(sys.argv[2])))
print(peak_memory() - before, len(found))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_eight_threads_take_no_more_than_all_may_together(tmp_path: Path) -> None:
    """Issue 23: 9999×9999 of 16 bits took 2.2 GB each; here 4000×4000, so 350 MB each before."""
    path = sixteen_bit_png(tmp_path / "grey.png", 4000, 4000)
    assert path.stat().st_size < 200_000
    done = subprocess.run(
        [sys.executable, "-c", PEAK, path, "8"], capture_output=True, text=True, check=True
    )
    taken, kinds = map(int, done.stdout.split())
    assert kinds == 1
    assert 100e6 < taken < 1.2 * decoding.AT_A_TIME


@pytest.mark.parametrize("mode", ["I;16", "I", "F", "RGBA", "LA", "P", "RGB", "L", "1", "CMYK"])
def test_piece_by_piece_gives_the_same_pixels(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(0)
    grey = generator.integers(0, 65536, (37, 11)).astype(np.uint16)
    if mode == "I;16":
        image = Image.fromarray(grey)
    elif mode in ("I", "F"):
        image = Image.fromarray(grey.astype(np.int32 if mode == "I" else np.float32) - 3000)
    else:
        full = Image.fromarray(generator.integers(0, 256, (37, 11, 4), np.uint8), "RGBA")
        image = full if mode == "RGBA" else full.convert("RGB").convert(mode)
        if mode == "P":
            image.info["transparency"] = 3
    whole = np.asarray(rgb.convert_to_rgb(tmp_path, image))
    monkeypatch.setattr(rgb, "BAND", 30)  # two rows at a time
    np.testing.assert_array_equal(np.asarray(rgb.convert_to_rgb(tmp_path, image)), whole)


def test_an_image_that_would_take_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "MAX_BYTES", 10_000)
    path = tmp_path / "a.png"
    Image.new("RGB", (50, 50)).save(path)
    for read in (read_image, lambda path: find_unreadable({"a": path}, 1, False)):
        if read is read_image:
            with pytest.raises(ImageProblem, match=r"too large \(50×50 pixels take"):
                read(path)
        else:
            assert "too large (50×50 pixels take" in read(path)["a"]
    Image.new("L", (40, 40)).save(path)
    assert read_image(path).size == (40, 40)


def test_what_an_image_takes() -> None:
    """Upright and RGB beside it: 16 bits 2 + 1 + 4, RGB 4 + 4 bytes a pixel."""
    for mode, pixel in (("I;16", 7), ("RGB", 8), ("RGBA", 8), ("L", 5), ("F", 9), ("CMYK", 8)):
        assert decoding_bytes(Image.new(mode, (10, 10)), 100) == 100 * pixel
    reduced = Image.new("RGB", (10, 10))
    reduced.info["progressive"] = 1
    assert decoding_bytes(reduced, 6400) == 800 + 6 * 6400


def test_threads_share_and_a_large_one_is_alone() -> None:
    budget, lock = Budget(100), threading.Lock()
    held: list[int] = []
    seen: list[tuple[int, int]] = []

    def work(count: int) -> None:
        with budget.take(count):
            with lock:
                held.append(count)
                seen.append((sum(held), len(held)))
            threading.Event().wait(0.002)
            with lock:
                held.remove(count)

    counts = [30, 60, 250, 10, 100, 90, 20, 300, 40] * 4
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, counts))
    assert len(seen) == len(counts)
    assert all(total <= 100 or alone == 1 for total, alone in seen)
    assert any(together > 1 for _, together in seen)


def test_memory_is_given_back_whatever_happens(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 50)
    for path in (tmp_path / "broken.png", tmp_path / "none.png"):
        with pytest.raises(ImageProblem):
            read_image(path)
    Image.new("RGB", (4, 4)).save(tmp_path / "good.png")
    with pytest.raises(RuntimeError), reading(tmp_path / "good.png"):
        raise RuntimeError
    assert decoding.memory._held == 0
