"""Filters, what there is to filter by, and pages of filtered searches."""

import json
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient

from polyglance.library import Library, sync
from polyglance.serve import make_app, open_collection
from tests.everyday.conftest import write_picture

DAYS = {"a/1.jpg": "2023:12:31 23:59:59", "a/2.jpg": "2024:01:01 00:00:00", "b/3.jpg": "2024:05:31"}


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six images in three folders: dates, keywords and captions; one lies in two folders."""
    folder = tmp_path_factory.mktemp("dated") / "images"
    for number, name in enumerate(["0.jpg", "a/1.jpg", "a/2.jpg", "b/3.jpg", "b/c/4.jpg"]):
        path = write_picture(folder / name, number)
        exif = Image.Exif()
        if name in DAYS:
            exif.get_ifd(0x8769)[36867] = f"{DAYS[name]} 12:00:00"[:19]
        exif[0x9C9E] = ("sea;dog" if number % 2 else "sea").encode("utf-16-le")
        Image.open(path).resize((100 * (number + 1), 90)).save(path, exif=exif)
    write_picture(folder / "ab" / "5.png", 5)
    (folder / "ab" / "same.jpg").write_bytes((folder / "a" / "1.jpg").read_bytes())
    captions = {"0.jpg": {"en": ["a dog"]}, "a/1.jpg": {"de": ["ein Hund"]}}
    lines = []
    for path in sorted(folder.rglob("*.*")):
        name = str(path.relative_to(folder))
        own = {code: {"independent": texts} for code, texts in captions.get(name, {}).items()}
        lines.append(json.dumps({"image": name, "split": "train", "captions": own}))
    (folder.parent / "captions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="module", params=["folder", "library"])
def photos(
    request: pytest.FixtureRequest,
    dated: Path,
    model_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> TestClient:
    """A service of them, with a library and without."""
    cache, place = tmp_path_factory.mktemp("filtered"), dated
    if request.param == "library":
        pytest.importorskip("lancedb")
        place = cache / "mine"
        library = Library.create(place, model_folder)
        library.change(folders=[str(dated)])
        sync(library, show_progress=False)
    collection = open_collection(place, model_folder, cache, show_progress=False)
    assert (collection.library is None) == (request.param == "folder")
    return TestClient(make_app(collection), base_url="http://localhost")


def paths(client: TestClient, parts: str) -> list[str]:
    answer = client.get(f"/v1/search?q=red+dog&{parts}")
    assert answer.status_code == 200, answer.text
    return names(answer.json())


def names(answer: dict) -> list[str]:
    """What was found, below the dataset's folder of images."""
    assert all(hit["path"].startswith("images/") for hit in answer["hits"])
    return [hit["path"].removeprefix("images/") for hit in answer["hits"]]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("folder=images/a", {"a/1.jpg", "a/2.jpg"}),
        ("folder=/images/b/", {"b/3.jpg", "b/c/4.jpg"}),
        ("folder=images/b/c", {"b/c/4.jpg"}),
        ("folder=images/ab", {"ab/5.png", "ab/same.jpg"}),
        ("folder=images/none", set()),
        ("folder=images/../../etc", set()),
        ("from=2024", {"a/2.jpg", "b/3.jpg"}),
        ("from=2024-01-01&to=2024-01-01", {"a/2.jpg"}),
        ("to=2023-12", {"a/1.jpg"}),
        ("to=2024-05-30", {"a/1.jpg", "a/2.jpg"}),
        ("min_width=400", {"b/3.jpg", "b/c/4.jpg"}),
        ("min_height=91", set()),
        ("min_width=200&min_height=90&folder=images/a", {"a/1.jpg", "a/2.jpg"}),
        ("tag=dog", {"a/1.jpg", "b/3.jpg"}),
        ("tag=sea&tag=dog&folder=images/b", {"b/3.jpg"}),
        ("tag=Dog", set()),
        ("caption_language=de", {"a/1.jpg"}),
        ("caption_language=fr", set()),
    ],
)
def test_a_filter_keeps_matching_images(photos: TestClient, parts: str, expected: set[str]) -> None:
    found = paths(photos, parts)
    assert set(found) == expected
    assert len(found) == len(expected)
    answer = photos.get(f"/v1/search?q=red+dog&{parts}").json()
    assert answer["pictures"] == len(expected)
    everything = paths(photos, "limit=200")
    left = [one if one != "ab/same.jpg" else "a/1.jpg" for one in found]
    assert left == [one for one in everything if one in left]


def test_pictures_and_mixtures_are_filtered_as_well(photos: TestClient, dated: Path) -> None:
    data, kind = (dated / "images" / "0.jpg").read_bytes(), {"content-type": "image/jpeg"}
    first = photos.get("/v1/search?q=dog").json()["hits"][0]["id"]
    for answer in (
        photos.post("/v1/search?folder=images/a", content=data, headers=kind),
        photos.post("/v1/search?folder=images/a&q=dog+-snow", content=data, headers=kind),
        photos.get(f"/v1/search?like={first}&min_width=1&folder=images/a"),
        photos.get(f"/v1/search?like={first}&q=red+-snow&folder=images/a"),
    ):
        assert answer.status_code == 200
        hits = set(names(answer.json()))
        assert hits
        assert hits <= {"a/1.jpg", "a/2.jpg"}


def test_filtered_pages_join_to_the_whole(photos: TestClient) -> None:
    whole, joined, cursor = paths(photos, "tag=sea"), [], ""
    assert len(whole) == 5
    for size in (2, 2, 1):
        address = f"/v1/search?q=red+dog&tag=sea&limit=2{cursor}"
        page = photos.get(address).json()
        assert len(page["hits"]) == size
        joined += names(page)
        cursor = f"&cursor={page['cursor']}"
    assert joined == whole
    assert page["cursor"] is None


def test_a_cursor_belongs_to_its_filters(photos: TestClient) -> None:
    cursor = photos.get("/v1/search?q=dog&tag=sea&limit=2").json()["cursor"]
    for parts in ("", "&tag=dog", "&tag=sea&folder=images/a", "&tag=sea&min_width=2"):
        answer = photos.get(f"/v1/search?q=dog&cursor={cursor}{parts}")
        assert answer.status_code == 400
    assert photos.get(f"/v1/search?q=dog&tag=sea&cursor={cursor}").status_code == 200


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ("from=yesterday", "from"),
        ("to=2024-13", "2024-13"),
        ("to=2024-02-30", "2024-02-30"),
        ("min_width=0", "min_width"),
        ("min_height=x", "min_height"),
        ("folder=" + "x" * 501, "folder"),
        ("tag=a%00b", "control"),
        ("colour=red", "colour"),
        ("&".join(["tag=x"] * 21), "tag"),
    ],
)
def test_invalid_filters_are_refused(photos: TestClient, parts: str, named: str) -> None:
    answer = photos.get(f"/v1/search?q=dog&{parts}")
    assert answer.status_code == 422
    assert named in answer.json()["error"]["message"]


def test_facets_count_what_filters_leave(photos: TestClient) -> None:
    facets = photos.get("/v1/facets").json()
    assert facets["pictures"] == 6
    folders = {one["name"]: one["pictures"] for one in facets["folders"]}
    below = {"images/a": 2, "images/ab": 2, "images/b": 2, "images/b/c": 1}
    assert folders == {"images": 6, **below}
    for name, count in folders.items():
        assert len(paths(photos, f"folder={name}")) == count
    assert facets["tags"] == [{"name": "sea", "pictures": 5}, {"name": "dog", "pictures": 2}]
    languages = {one["name"]: one["pictures"] for one in facets["caption_languages"]}
    assert languages == {"de": 1, "en": 1}
    assert facets["dates"] == {"from": "2023-12-31", "to": "2024-05-31", "pictures": 3}
    assert [(one["name"], one["pictures"]) for one in facets["years"]] == [("2023", 1), ("2024", 2)]
    assert facets["more"] is False


def test_hits_tell_when_a_picture_was_taken(photos: TestClient) -> None:
    hits = photos.get("/v1/search?q=dog").json()["hits"]
    taken = {hit["path"]: hit["taken"] for hit in hits}
    assert taken["images/a/2.jpg"] == "2024-01-01T00:00:00"
    assert taken["images/0.jpg"] is None
    assert {hit["path"]: hit["width"] for hit in hits}["images/b/3.jpg"] == 400
