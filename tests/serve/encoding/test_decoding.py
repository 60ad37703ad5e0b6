"""The process that decodes uploads: its limits, and what comes after one that ended it."""

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.data.images.read import reading
from polyglance.serve.encoding.decoding import Decoder
from polyglance.serve.problems import Problem
from polyglance.vision.networks.preprocess import Preprocessing
from tests.serve.hostile import Deadly, Slow, Talkative

HOW = Preprocessing(16, 1.0, (127.0,) * 3, (50.0,) * 3)


def png(colour: int, side: int = 20) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (side, side), (colour,) * 3).save(buffer, "PNG")
    return buffer.getvalue()


def test_pixels_are_those_of_the_one_way_to_read(tmp_path: Path) -> None:
    path, decoder = tmp_path / "a.png", Decoder(HOW)
    Image.effect_noise((60, 40), 80).save(path)
    with reading(path, HOW.short_side) as image:
        np.testing.assert_array_equal(decoder(path.read_bytes()), HOW.apply(image))
    decoder.close()


def test_a_picture_that_ends_the_process_ends_no_more() -> None:
    decoder = Decoder(Deadly(16, 1.0, (127.0,) * 3, (50.0,) * 3))
    for _ in range(2):
        with pytest.raises(Problem, match="decoding takes too much memory"):
            decoder(png(0))
        assert decoder(png(200)).shape == (3, 16, 16)
    decoder.close()


def test_messages_of_decoders_are_not_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    decoder = Decoder(Talkative(16, 1.0, (127.0,) * 3, (50.0,) * 3))
    assert decoder(png(200)).shape == (3, 16, 16)
    decoder.close()
    assert "libtiff" not in capfd.readouterr().err


def test_a_picture_that_takes_too_long_is_given_up() -> None:
    decoder = Decoder(Slow(16, 1.0, (127.0,) * 3, (50.0,) * 3), seconds=0.2)
    with pytest.raises(Problem, match="too long"):
        decoder(png(0))
    assert [one.process for one in decoder.processes] == [None] * len(decoder.processes)


def test_memory_is_limited() -> None:
    decoder = Decoder(HOW, memory=150_000_000)
    with pytest.raises(Problem, match="memory"):
        decoder(png(0, 7000))
    assert decoder(png(0)).shape == (3, 16, 16)
    decoder.close()


def test_a_process_starts_when_the_others_are_busy() -> None:
    decoder = Decoder(HOW, processes=2)
    for _ in range(3):
        assert decoder(png(0)).shape == (3, 16, 16)
    assert sum(one.process is not None for one in decoder.processes) == 1
    busy = decoder._idle.get()
    assert decoder(png(0)).shape == (3, 16, 16)
    assert all(one.process is not None for one in decoder.processes)
    decoder._idle.put(busy)
    decoder.close()


def test_many_threads_get_their_own_pictures() -> None:
    decoder = Decoder(HOW, processes=2)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(decoder, [png(colour) for colour in range(0, 240, 10)]))
    brightness = [float(pixels.mean()) for pixels in found]
    np.testing.assert_allclose(brightness, [(c - 127) / 50 for c in range(0, 240, 10)], atol=1e-4)
    decoder.close()
