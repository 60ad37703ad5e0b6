"""What is read from files: facts, thumbnails, HEIC, RAW and videos."""

import io
import struct
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.errors import ImageProblem
from polyglance.library import Caption, sync
from polyglance.library.media.exif import read_metadata
from polyglance.library.media.reading import read_media
from polyglance.library.media.thumbnails import Thumbnails, content_type, make_thumbnail
from tests.library.fakes import FakeModel, library_of, picture, save

HOW = FakeModel().preprocessing


def tagged(path: Path) -> Path:
    """A JPEG that lies on its side, with a date, a place, a caption and keywords."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "Zwei Hunde\x00im Schnee "
    exif[0x9C9E] = "Schnee;Hund;Schnee\0".encode("utf-16-le")
    exif.get_ifd(0x8769)[36867] = "2021:07:15 18:30:05"
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2], gps[3], gps[4] = "S", (33.0, 51.0, 30.0), "E", (151.0, 12.0, 36.0)
    picture(1, (400, 300)).save(path, exif=exif, quality=95)
    return path


def test_facts(tmp_path: Path) -> None:
    (found,) = read_media(tagged(tmp_path / "a.jpg"), HOW)
    facts = found.metadata
    assert (facts.width, facts.height) == (300, 400)
    assert facts.taken == datetime(2021, 7, 15, 18, 30, 5)
    assert (facts.latitude, facts.longitude) == pytest.approx((-33.858333, 151.21))
    assert facts.captions == (Caption("", "Zwei Hunde im Schnee"),)
    assert facts.tags == ("Schnee", "Hund")
    small = Image.open(io.BytesIO(found.thumbnail))
    assert (small.size, small.getexif().get(0x8825)) == ((240, 320), None)


@pytest.mark.parametrize("date", ["0000:00:00 00:00:00", "soon", "", "1899:01:01 00:00:00"])
def test_damaged_facts_are_left_out(date: str) -> None:
    image = picture(1)
    exif = image.getexif()
    exif.get_ifd(0x8769)[36867] = date
    exif.get_ifd(0x8825)[2] = (1.0, 2.0, float("nan"))
    exif[0x010E] = "OLYMPUS DIGITAL CAMERA"
    facts = read_metadata(image)
    assert (facts.taken, facts.latitude, facts.captions) == (None, None, ())


def test_thumbnails(tmp_path: Path) -> None:
    wide = make_thumbnail(picture(1, (4000, 10)))
    assert Image.open(io.BytesIO(wide)).size == (320, 1)
    tiny = make_thumbnail(picture(1, (5, 4)))
    assert Image.open(io.BytesIO(tiny)).size == (5, 4)
    assert content_type(tiny) in ("image/webp", "image/jpeg")
    kept = Thumbnails(tmp_path / "a.sqlite")
    kept.put({"a": wide, "b": tiny})
    kept.put({"a": tiny})
    other = Thumbnails(tmp_path / "a.sqlite")
    assert (other.get("a"), other.get("b"), other.get("c")) == (tiny, tiny, None)
    assert kept.keep(["b", "c"]) == 1
    assert (other.get("a"), other.get("b")) == (None, tiny)


def test_the_captions_of_a_dataset(tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    folder = tmp_path / "data"
    save(folder / "images" / "a.png", 1)
    (folder / "captions.jsonl").write_text(
        '{"image": "a.png", "split": "train", "captions": {"de": {"independent": ["ein Hund"]}}}\n'
    )
    library = library_of(tmp_path / "library", folder)
    sync(library)
    assert library.store.records()[0].captions == (Caption("de", "ein Hund"),)


def test_heic(tmp_path: Path) -> None:
    heif = pytest.importorskip("pillow_heif")
    path = tmp_path / "a.heic"
    heif.from_pillow(picture(1, (200, 100))).save(path, quality=90)
    (found,) = read_media(path, HOW)
    assert (found.metadata.width, found.metadata.height) == (200, 100)
    expected = HOW.apply(picture(1, (200, 100)))
    assert np.abs(found.pixels - expected).mean() < 0.2


def dng(path: Path, width: int = 64, height: int = 48) -> Path:
    """The smallest RAW file: a grey ramp behind red, green and blue filters."""
    raw = np.tile(np.linspace(1000, 60000, width).astype("<u2"), (height, 1))
    matrix = [1, 0, 0, 0, 1, 0, 0, 0, 1]
    rational = b"".join(struct.pack("<ii", value, 1) for value in matrix)
    tags: list[tuple[int, int, int, bytes]] = [
        (254, 4, 1, struct.pack("<I", 0)),
        (256, 4, 1, struct.pack("<I", width)),
        (257, 4, 1, struct.pack("<I", height)),
        (258, 3, 1, struct.pack("<HH", 16, 0)),
        (259, 3, 1, struct.pack("<HH", 1, 0)),
        (262, 3, 1, struct.pack("<HH", 32803, 0)),
        (271, 2, 5, b"Test\0"),
        (272, 2, 5, b"Test\0"),
        (273, 4, 1, b"DATA"),
        (277, 3, 1, struct.pack("<HH", 1, 0)),
        (278, 4, 1, struct.pack("<I", height)),
        (279, 4, 1, struct.pack("<I", raw.nbytes)),
        (33421, 3, 2, struct.pack("<HH", 2, 2)),
        (33422, 1, 4, bytes([0, 1, 1, 2])),
        (50706, 1, 4, bytes([1, 4, 0, 0])),
        (50708, 2, 5, b"Test\0"),
        (50721, 10, 9, rational),
    ]
    offset = 8 + 2 + 12 * len(tags) + 4
    more, entries = b"", b""
    for tag, kind, count, value in tags:
        if len(value) > 4:
            pointer = offset + len(more)
            more += value + b"\0" * (len(value) % 2)
            value = struct.pack("<I", pointer)
        entries += struct.pack("<HHI", tag, kind, count) + value
    entries = entries.replace(b"DATA", struct.pack("<I", offset + len(more)))
    head = struct.pack("<2sHI", b"II", 42, 8) + struct.pack("<H", len(tags))
    path.write_bytes(head + entries + struct.pack("<I", 0) + more + raw.tobytes())
    return path


def test_raw(tmp_path: Path) -> None:
    pytest.importorskip("rawpy")
    (found,) = read_media(dng(tmp_path / "a.dng"), HOW)
    assert (found.metadata.width, found.metadata.height) == (64, 48)
    columns = found.pixels.mean((0, 1))
    assert (np.diff(columns) > 0).all(), "from dark to bright"
    (tmp_path / "bad.nef").write_bytes(b"no raw")
    with pytest.raises(ImageProblem, match="unreadable RAW file"):
        read_media(tmp_path / "bad.nef", HOW)


def film(path: Path, seconds: int = 25) -> Path:
    """A video with a key frame a second: red, then from its tenth second on blue."""
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(2))
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.gop_size = 2
        for number in range(2 * seconds):
            colour = "red" if number < 20 else "blue"
            frame = av.VideoFrame.from_image(Image.new("RGB", (64, 48), colour))
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_videos_by_their_frames(tmp_path: Path) -> None:
    found = read_media(film(tmp_path / "a.mp4"), HOW)
    assert [one.second for one in found] == [0.0, 10.0, 20.0]
    assert [one.metadata.width for one in found] == [64] * 3
    red = [bool(one.pixels[0].mean() > one.pixels[2].mean()) for one in found]
    assert red == [True, False, False]
    (tmp_path / "bad.mp4").write_bytes(b"no film")
    with pytest.raises(ImageProblem, match="unreadable video"):
        read_media(tmp_path / "bad.mp4", HOW)


def test_no_playlist_is_opened_as_a_video(tmp_path: Path) -> None:
    """FFmpeg would open the files that a playlist names."""
    other = film(tmp_path / "other.mp4", 2)
    (tmp_path / "a.mp4").write_text(f"#EXTM3U\n#EXTINF:2,\nfile://{other}\n#EXT-X-ENDLIST\n")
    (tmp_path / "b.mp4").write_text(f"ffconcat version 1.0\nfile '{other.name}'\n")
    for name in ("a.mp4", "b.mp4"):
        with pytest.raises(ImageProblem):
            read_media(tmp_path / name, HOW)


def test_a_video_in_a_library(tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    (tmp_path / "films").mkdir()
    film(tmp_path / "films" / "a.mp4")
    save(tmp_path / "films" / "b.png", 1)
    library = library_of(tmp_path / "library", tmp_path / "films")
    report = sync(library)
    assert (report.added, report.embedded, library.store.count()) == (2, 2, 4)
    match = library.search(Image.new("RGB", (64, 48), "red"))[0]
    assert (Path(match.record.path).name, match.record.second) == ("a.mp4", 0.0)
    assert len(library.search(Image.new("RGB", (64, 48), "red"))) == 2
    assert library.thumbnail(match.record.id) is not None
    (tmp_path / "films" / "a.mp4").rename(tmp_path / "films" / "c.mp4")
    report = sync(library)
    assert (report.moved, report.embedded, library.store.count()) == (1, 0, 4)
    (tmp_path / "films" / "c.mp4").unlink()
    assert sync(library).removed == 1
    assert library.store.count() == 1
