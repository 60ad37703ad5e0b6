"""RAW files and videos that are served."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

pytest.importorskip("lancedb")
from polyglance.library import Library, sync
from polyglance.serve import make_app, open_collection
from tests.library.media.test_reading import dng, film


@pytest.fixture
def media(tmp_path: Path) -> Path:
    pytest.importorskip("rawpy")
    (tmp_path / "media").mkdir()
    film(tmp_path / "media" / "a.mp4")
    dng(tmp_path / "media" / "b.dng")
    return tmp_path / "media"


@pytest.fixture
def asked(tmp_path: Path, media: Path, model_folder: Path) -> TestClient:
    library = Library.create(tmp_path / "mine", model_folder)
    library.change(folders=[str(media)])
    sync(library, show_progress=False)
    return TestClient(make_app(open_collection(library.folder)), base_url="http://localhost")


def hits_of(asked: TestClient) -> dict[str, dict]:
    """By position in the video, or file name."""
    hits = asked.get("/v1/search?q=dog").json()["hits"]
    return {hit["id"].partition("@")[2] or hit["path"]: hit for hit in hits}


def image_of(asked: TestClient, address: str) -> Image.Image:
    answer = asked.get(address)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] in ("image/jpeg", "image/webp")
    return Image.open(io.BytesIO(answer.content)).convert("RGB")


def test_frames_and_raw_files_are_shown_large(asked: TestClient) -> None:
    hits = hits_of(asked)
    assert set(hits) == {"0", "10", "20", "b.dng"}
    for second, channel in (("0", 0), ("10", 2), ("20", 2)):
        image = image_of(asked, hits[second]["image"])
        assert image.size == (64, 48)
        assert int(np.argmax(np.asarray(image).mean((0, 1)))) == channel
    assert image_of(asked, hits["b.dng"]["image"]).size == (64, 48)


def test_they_have_heat_maps(asked: TestClient) -> None:
    for hit in hits_of(asked).values():
        answer = asked.get(f"/v1/images/{hit['id']}/heat?q=dog")
        assert answer.status_code == 200, answer.text
        assert answer.json()["columns"] > answer.json()["rows"]


def test_one_that_cannot_be_decoded_any_more_has_its_thumbnail(
    asked: TestClient, media: Path
) -> None:
    hits = hits_of(asked)
    (media / "a.mp4").write_bytes(b"no film")
    (media / "b.dng").unlink()
    assert image_of(asked, hits["0"]["image"]).size == (64, 48)
    assert asked.get(f"/v1/images/{hits['0']['id']}/heat?q=dog").status_code == 404
    assert asked.get(hits["b.dng"]["image"]).status_code == 404
