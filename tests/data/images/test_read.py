import io
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from polyglance.data.images import read as images
from polyglance.data.images.read import content_key, list_images, read_image
from polyglance.errors import ImageProblem, PolyglanceError

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (20, 30, 3), np.uint8)  # h 20, w 30


def pixels(path, **options):
    image = read_image(path, **options)
    assert image.mode == "RGB"
    return np.asarray(image)


def reason(path):
    with pytest.raises(ImageProblem) as caught:
        read_image(path)
    assert str(caught.value).startswith(f"{path}: ")
    return caught.value.reason


def raw_png(path, depth, colour, width, height, rows):
    """A PNG written byte by byte, for what Pillow itself cannot write."""
    chunks = b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    for kind, body in ((b"IHDR", head), (b"IDAT", data), (b"IEND", b"")):
        chunks += struct.pack(">I", len(body)) + kind + body
        chunks += struct.pack(">I", zlib.crc32(kind + body))
    path.write_bytes(chunks)
    return path


def test_plain_rgb_is_exact(tmp_path):
    Image.fromarray(NOISE).save(tmp_path / "a.png")
    np.testing.assert_array_equal(pixels(tmp_path / "a.png"), NOISE)


@pytest.mark.parametrize(
    ("orientation", "upright"),
    [
        (1, lambda a: a),
        (2, lambda a: a[:, ::-1]),
        (3, lambda a: a[::-1, ::-1]),
        (4, lambda a: a[::-1]),
        (5, lambda a: a.transpose(1, 0, 2)),
        (6, lambda a: np.rot90(a, -1)),
        (7, lambda a: a[::-1, ::-1].transpose(1, 0, 2)),
        (8, lambda a: np.rot90(a)),
    ],
)
def test_exif_orientation_is_undone_exactly(tmp_path, orientation, upright):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(NOISE).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(pixels(tmp_path / "a.png"), upright(NOISE))


def test_damaged_exif_does_not_matter(tmp_path):
    Image.fromarray(NOISE).save(tmp_path / "a.png", exif=b"Exif\0\0II*\0\xff\xff\xff\xffgarbage")
    np.testing.assert_array_equal(pixels(tmp_path / "a.png"), NOISE)


def test_cmyk(tmp_path):
    cmyk = np.zeros((8, 8, 4), np.uint8)
    cmyk[..., 0], cmyk[..., 3] = 255, 51
    Image.fromarray(cmyk, "CMYK").save(tmp_path / "a.jpg", quality=100)
    np.testing.assert_allclose(pixels(tmp_path / "a.jpg")[4, 4], [0, 204, 204], atol=3)


def test_sixteen_bits_keep_the_high_byte(tmp_path):
    grey = np.linspace(0, 65535, 600).astype(np.uint16).reshape(20, 30)
    Image.fromarray(grey).save(tmp_path / "a.png")
    expected = np.rint(grey / 257).astype(np.uint8)
    np.testing.assert_array_equal(pixels(tmp_path / "a.png"), np.stack([expected] * 3, 2))
    Image.fromarray(grey).save(tmp_path / "a.tif")
    np.testing.assert_array_equal(pixels(tmp_path / "a.tif")[..., 1], expected)


@pytest.mark.parametrize(("colour", "channels"), [(2, 3), (6, 4), (0, 1)])
def test_sixteen_bit_png_of_every_kind(tmp_path, colour, channels):
    value = 0xC0C0
    row = struct.pack(">H", value) * (4 * channels)
    if channels == 4:
        row = struct.pack(">HHHH", value, value, value, 0xFFFF) * 4
    path = raw_png(tmp_path / "a.png", 16, colour, 4, 2, [row] * 2)
    np.testing.assert_array_equal(pixels(path), np.full((2, 4, 3), 0xC0))


def test_floats_and_wide_integers_are_scaled(tmp_path):
    ramp = np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16)
    bytes_ = np.arange(256, dtype=np.uint8).reshape(16, 16)
    for name, values in (
        ("unit", ramp),
        ("byte", ramp * 255),
        ("signed", ramp * 2000 - 1000),
    ):
        Image.fromarray(values).save(tmp_path / f"{name}.tif")
        np.testing.assert_allclose(pixels(tmp_path / f"{name}.tif")[..., 0], bytes_, atol=1)
    Image.fromarray((ramp.astype(np.float64) * 2**30).astype(np.int32)).save(tmp_path / "i.tif")
    np.testing.assert_allclose(pixels(tmp_path / "i.tif")[..., 0], bytes_, atol=1)
    Image.fromarray(np.full((4, 4), np.nan, np.float32)).save(tmp_path / "nan.tif")
    assert "NaN" in reason(tmp_path / "nan.tif")


def test_transparency_is_on_white(tmp_path):
    palette = Image.new("P", (2, 1))
    palette.putpalette([200, 0, 0, 0, 0, 200])
    palette.putpixel((1, 0), 1)
    palette.save(tmp_path / "p.png", transparency=0)
    assert pixels(tmp_path / "p.png").tolist() == [[[255, 255, 255], [0, 0, 200]]]
    half = Image.new("LA", (1, 1), (0, 128))
    half.save(tmp_path / "la.png")
    assert pixels(tmp_path / "la.png").tolist() == [[[127, 127, 127]]]
    Image.new("RGBA", (1, 1), (9, 9, 9, 0)).save(tmp_path / "rgba.png")
    assert pixels(tmp_path / "rgba.png").tolist() == [[[255, 255, 255]]]
    Image.new("1", (1, 1), 1).save(tmp_path / "bit.png")
    assert pixels(tmp_path / "bit.png").tolist() == [[[255, 255, 255]]]


@pytest.mark.parametrize("ending", ["gif", "webp", "png"])
def test_animation_gives_its_first_frame(tmp_path, ending):
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "blue")]
    options = {"lossless": True} if ending == "webp" else {}
    frames[0].save(tmp_path / f"a.{ending}", save_all=True, append_images=frames[1:], **options)
    assert pixels(tmp_path / f"a.{ending}")[8, 8].tolist() == [255, 0, 0]


def test_large_jpeg_is_decoded_at_a_fraction(tmp_path):
    Image.new("RGB", (1600, 900), "green").save(tmp_path / "a.jpg")
    assert read_image(tmp_path / "a.jpg", at_least=100).size == (400, 225)
    assert read_image(tmp_path / "a.jpg", at_least=300).size == (1600, 900)
    assert read_image(tmp_path / "a.jpg").size == (1600, 900)
    assert pixels(tmp_path / "a.jpg", at_least=100)[50, 50].tolist() == [0, 128, 1]


def test_gigantic_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "MAX_PIXELS", 10_000)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    Image.new("RGB", (400, 300), "green").save(tmp_path / "a.jpg")
    assert read_image(tmp_path / "a.jpg").size == (100, 75)
    assert read_image(tmp_path / "a.jpg", at_least=200).size == (100, 75)
    Image.new("RGB", (400, 300), "green").save(tmp_path / "p.jpg", progressive=True)
    assert "too large (400×300 pixels" in reason(tmp_path / "p.jpg")
    Image.new("RGB", (150, 100)).save(tmp_path / "b.png")
    assert "too large (150×100 pixels" in reason(tmp_path / "b.png")
    Image.new("RGB", (400, 300)).save(tmp_path / "c.png")
    assert "too large" in reason(tmp_path / "c.png")


def test_a_bomb_is_refused_before_it_is_decoded(tmp_path):
    path = raw_png(tmp_path / "bomb.png", 8, 2, 60_000, 60_000, [b"\0" * 300])
    assert reason(path) == "too large (3,600,000,000 pixels, the limit is 100 million)"


def test_every_truncated_file_is_a_problem(tmp_path):
    for ending in ("png", "jpeg", "gif", "webp", "tiff", "bmp"):
        buffer = io.BytesIO()
        Image.fromarray(NOISE).save(buffer, ending)
        whole = buffer.getvalue()
        for length in range(0, len(whole) // 2, 37):
            path = tmp_path / f"cut.{ending}"
            path.write_bytes(whole[:length])
            assert reason(path)


def test_flipped_bytes_never_crash(tmp_path):
    buffer = io.BytesIO()
    Image.fromarray(NOISE).save(buffer, "PNG")
    for _ in range(200):
        broken = bytearray(buffer.getvalue())
        for place in RNG.integers(0, len(broken), 3):
            broken[place] = RNG.integers(256)
        (tmp_path / "a.png").write_bytes(broken)
        try:
            outcome = read_image(tmp_path / "a.png").mode
        except ImageProblem as problem:
            outcome = problem.reason
        assert outcome


@pytest.mark.parametrize("binary", [False, True])
def test_postscript_is_refused_without_ghostscript(tmp_path, binary):
    path, marker, folder = tmp_path / "holiday.jpg", tmp_path / "started", tmp_path / "bin"
    Image.fromarray(NOISE).save(path, format="EPS")
    if binary:  # with a header in front, as Windows programs write it
        data = path.read_bytes()
        path.write_bytes(
            struct.pack("<4sIIIIIIH", b"\xc5\xd0\xd3\xc6", 30, len(data), *[0] * 5) + data
        )
    folder.mkdir()
    for name in ("gs", "gswin64c", "gswin32c"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (folder / name).chmod(0o755)
    program = """if True:
        import sys
        from pathlib import Path
        from polyglance.data.info import find_unreadable
        from polyglance.data.images.read import read_image
        from polyglance.errors import ImageProblem
        path = Path(sys.argv[1])
        try:
            read_image(path)
        except ImageProblem as problem:
            print(problem.reason)
        print(find_unreadable({"holiday": path}, 1, False)["holiday"])
        """
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert not marker.exists()
    refusal = "PostScript, not an image that can be read; save it as JPEG or PNG"
    assert done.stdout.splitlines() == [refusal, refusal]


@pytest.mark.parametrize(
    "form", ["JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "ICO", "JPEG2000"]
)
def test_every_format_is_read_by_its_content(tmp_path, form):
    Image.fromarray(NOISE[:16, :16]).save(tmp_path / "x.dat", format=form)
    assert pixels(tmp_path / "x.dat").shape == (16, 16, 3)


def test_files_that_are_no_image_are_refused(tmp_path):
    (tmp_path / "empty.jpg").touch()
    assert reason(tmp_path / "empty.jpg") == "empty file"
    (tmp_path / "text.jpg").write_text("hello, I am not a picture")
    assert reason(tmp_path / "text.jpg") == (
        "not an image that can be read; save it as JPEG or PNG"
    )
    assert reason(tmp_path / "missing.jpg") == "no such file"
    (tmp_path / "folder.jpg").mkdir()
    assert reason(tmp_path / "folder.jpg") == "a folder"
    os.mkfifo(tmp_path / "pipe.jpg")
    assert reason(tmp_path / "pipe.jpg") == "not a regular file"
    with pytest.raises(ImageProblem, match="not a regular file"):
        content_key(tmp_path / "pipe.jpg")
    with pytest.raises(ImageProblem, match="no such file"):
        content_key(tmp_path / "missing.jpg")


def test_unreadable_file(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    Image.fromarray(NOISE).save(path)

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)  # root may read everything
    assert reason(path) == "no permission to read it"


def test_heic_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pillow_heif", None)
    (tmp_path / "a.HEIC").write_bytes(b"\0\0\0\x18ftypheic")
    assert "pip install 'polyglance[media]'" in reason(tmp_path / "a.HEIC")


def test_list_images(tmp_path):
    for name in (
        "b/2.JPG",
        "b/1.png",
        "a.Jpeg",
        "notes.txt",
        ".hidden.jpg",
        ".dir/x.jpg",
        "c.HEIC",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [path.relative_to(tmp_path).as_posix() for path in list_images(tmp_path)]
    assert names == ["a.Jpeg", "b/1.png", "b/2.JPG", "c.HEIC"]
    with pytest.raises(PolyglanceError, match="no such folder"):
        list_images(tmp_path / "missing")


def test_folders_that_cannot_be_read_are_named(tmp_path, closed):
    (tmp_path / "a.jpg").touch()
    shut, skipped = closed(tmp_path / "private"), []
    assert list_images(tmp_path, skipped) == [tmp_path / "a.jpg"]
    assert skipped == [(shut, "the folder cannot be read (Permission denied)")]
    with pytest.raises(PolyglanceError, match=r"private: the folder cannot be read"):
        list_images(tmp_path)
    with pytest.raises(PolyglanceError, match=r"private: the folder cannot be read"):
        list_images(shut, [])


def test_content_key_follows_the_bytes(tmp_path):
    for name, content in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).write_bytes(content)
    assert content_key(tmp_path / "a") == content_key(tmp_path / "b") != content_key(tmp_path / "c")
    assert content_key(tmp_path / "a") == "cea3878a334b240469d159ff840b6434"
