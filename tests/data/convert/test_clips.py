import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.data.convert.clips import hold_out, read_lists
from polyglance.data.convert.frames import even_frames, read_frames
from polyglance.data.convert.msrvtt import convert_msrvtt
from polyglance.data.convert.vatex import convert_vatex
from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.extract import load_features


def put_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def put_array(folder: Path, clip: str, frames: int = 3, dim: int = 4) -> np.ndarray:
    folder.mkdir(parents=True, exist_ok=True)
    values = np.arange(frames * dim, dtype=np.float32).reshape(frames, dim) / 8
    np.save(folder / f"{clip}.npy", values)
    return values


def put_msrvtt(folder: Path, splits: dict[str, str], arrays: bool = True) -> None:
    """As distributed: training and validation in one file, the test in another."""
    for file, names in (("train_val", ("train", "validate")), ("test", ("test",))):
        clips = [clip for clip, split in splits.items() if split in names]
        videos = [{"video_id": clip, "split": splits[clip], "category": 0} for clip in clips]
        sentences = [
            {"video_id": clip, "caption": f"{clip} does {what}", "sen_id": 0}
            for what in ("this", "that")
            for clip in clips
        ]
        value = {"info": {}, "videos": videos, "sentences": sentences}
        put_json(folder / f"{file}_videodatainfo.json", value)
    for clip in splits if arrays else ():
        put_array(folder / "resnet", clip)


def numbered(**counts: int) -> dict[str, str]:
    splits = [split for split, count in counts.items() for _ in range(count)]
    return {f"video{i}": split for i, split in enumerate(splits)}


def by_split(photos: list) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for photo in photos:
        found.setdefault(photo.split, []).append(photo.image)
    return found


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.output


def test_msrvtt_official_splits_and_captions(tmp_path: Path) -> None:
    put_msrvtt(tmp_path, numbered(train=2, validate=1, test=1))
    result = convert_msrvtt(tmp_path)
    assert by_split(result.images) == {
        "train": ["video0", "video1"],
        "val": ["video2"],
        "test": ["video3"],
    }
    captions = {photo.image: photo.captions for photo in result.images}
    assert captions["video1"] == {"en": {"independent": ["video1 does this", "video1 does that"]}}
    (features,) = result.features
    assert (features.name, features.dim, features.form, features.total) == ("frames", 4, "set", 4)
    assert (result.noun, result.sources, result.notes) == ("clips", {}, [])


def put_jsfusion(folder: Path, rows: dict[str, str]) -> None:
    lines = [f'ret{i},msr{i},{clip},"{text}"' for i, (clip, text) in enumerate(rows.items())]
    text = "\n".join(["key,vid_key,video_id,sentence", *lines])
    (folder / "MSRVTT_JSFUSION_test.csv").write_text(text, encoding="utf-8")


def test_msrvtt_1k_a_tests_on_the_csv_and_trains_on_the_rest(tmp_path: Path) -> None:
    put_msrvtt(tmp_path, numbered(train=2, validate=1, test=3))
    put_jsfusion(tmp_path, {"video4": "one, sentence"})
    result = convert_msrvtt(tmp_path, split="1k-a")
    splits = by_split(result.images)
    assert {split: sorted(clips) for split, clips in splits.items()} == {
        "train": ["video0", "video1", "video3", "video5"],
        "val": ["video2"],
        "test": ["video4"],
    }
    (test,) = [photo for photo in result.images if photo.split == "test"]
    assert test.captions == {"en": {"independent": ["one, sentence"]}}
    smaller = convert_msrvtt(tmp_path, split="1k-a-7k")
    assert sorted(by_split(smaller.images)["train"]) == ["video0", "video1"]
    assert "left out, in no split: 2" in smaller.notes


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("video_id\nvideo4", "line 1: needs the columns video_id and sentence"),
        ("video_id,sentence\nvideo4", "line 2: needs a video_id and a sentence"),
        ("video_id,sentence\nvideo9,a", "line 2: clip 'video9' is in none of the JSON files"),
        ("video_id,sentence\nvideo4,a\nvideo4,b", "line 3: clip 'video4' is listed twice"),
    ],
)
def test_bad_lists_of_jsfusion(tmp_path: Path, rows: str, message: str) -> None:
    put_msrvtt(tmp_path, numbered(train=2, validate=1, test=3))
    (tmp_path / "MSRVTT_JSFUSION_test.csv").write_text(rows)
    with pytest.raises(PolyglanceError, match=message):
        convert_msrvtt(tmp_path, split="1k-a")


def test_without_validation_some_training_clips_are_it(tmp_path: Path) -> None:
    put_msrvtt(tmp_path, numbered(train=40, test=1))
    result = convert_msrvtt(tmp_path)
    sizes = {split: len(clips) for split, clips in by_split(result.images).items()}
    assert sizes == {"train": 38, "val": 2, "test": 1}
    assert result.notes == ["there is no validation split: 2 training clips were held out"]


def test_lists_decide_on_splits(tmp_path: Path) -> None:
    put_msrvtt(tmp_path, numbered(train=3, test=2))
    lists = tmp_path / "lists"
    lists.mkdir()
    np.save(lists / "trn_names.npy", np.array(["video0", "video4"]))
    (lists / "val.txt").write_text("video1\n")
    (lists / "test.txt").write_text("video2\n")
    result = convert_msrvtt(tmp_path, lists=str(lists))
    expected = {"train": ["video0", "video4"], "val": ["video1"], "test": ["video2"]}
    assert {split: sorted(clips) for split, clips in by_split(result.images).items()} == expected
    assert result.notes == ["left out, in no split: 1"]
    np.save(lists / "tst_names.npy", np.array(["video1"]))
    with pytest.raises(PolyglanceError, match="'video1' is also in the list of split 'val'"):
        read_lists(lists)
    np.save(lists / "tst_names.npy", np.array(["a", None], object), allow_pickle=True)
    with pytest.raises(PolyglanceError, match=r"tst_names\.npy: not a readable array of names"):
        read_lists(lists)


def put_vatex(folder: Path, **parts: list[str]) -> None:
    for part, clips in parts.items():
        value = []
        for clip in clips:
            entry = {"videoID": clip, "enCap": [f"{clip} en {i}" for i in range(10)]}
            if part != "public_test_english":
                entry["chCap"] = [f"{clip} 中 {i}" for i in range(10)]
            value.append(entry)
            values = put_array(folder / "val", clip)
            np.save(folder / "val" / f"{clip}.npy", values[None])  # I3D comes as [1, T, 1024]
        put_json(folder / f"vatex_{part}_v1.0.json", value)


def test_vatex_kinds_and_splits(tmp_path: Path) -> None:
    put_vatex(tmp_path, training=["-a_000001_000011"], validation=["b"], public_test_english=["c"])
    put_json(tmp_path / "vatex_private_test_without_annotations.json", [{"videoID": "d"}])
    result = convert_vatex(tmp_path)
    photos = {photo.split: photo for photo in result.images}
    assert {split: photo.image for split, photo in photos.items()} == {
        "train": "-a_000001_000011",
        "val": "b",
        "test": "c",
    }
    chinese = [f"b 中 {i}" for i in range(10)]
    assert photos["val"].captions == {
        "en": {"independent": [f"b en {i}" for i in range(10)]},
        "zh": {"independent": chinese[:5], "translation": chinese[5:]},
    }
    assert list(photos["test"].captions) == ["en"]
    assert dict(result.features[0].items())["b"].shape == (3, 4)
    assert result.notes == []


def test_vatex_halves_of_validation(tmp_path: Path) -> None:
    names = [f"clip{i}" for i in range(10)]
    put_vatex(tmp_path, training=["t"], validation=names)
    result = convert_vatex(tmp_path)
    splits = by_split(result.images)
    assert len(splits["test"]) == len(splits["val"]) == 5
    assert sorted(splits["test"] + splits["val"]) == names
    (note,) = result.notes
    assert "half of the validation clips (5) are the test split" in note
    put_vatex(tmp_path, public_test_english=["other"])
    assert by_split(convert_vatex(tmp_path, split="halves").images) == splits
    assert by_split(convert_vatex(tmp_path).images)["test"] == ["other"]


def test_a_vatex_language_in_two_files(tmp_path: Path) -> None:
    put_vatex(tmp_path, training=["t"], validation=["v"])
    put_vatex(tmp_path, train_english=["t"])
    with pytest.raises(PolyglanceError, match="'t' has its enCap twice"):
        convert_vatex(tmp_path)


def test_unusable_arrays_are_reported_and_left_out(tmp_path: Path) -> None:
    put_msrvtt(tmp_path, numbered(train=8, validate=2, test=3))
    folder = tmp_path / "resnet"
    (folder / "video0.npy").unlink()
    (folder / "video1.npy").write_bytes((folder / "video2.npy").read_bytes()[:-9])
    np.save(folder / "video3.npy", np.full((2, 4), np.nan, np.float32))
    np.save(folder / "video4.npy", np.array([{"a": 1}], object), allow_pickle=True)
    put_array(folder, "video5", dim=7)
    np.save(folder / "video6.npy", np.zeros((2, 3, 4), np.float32))
    (folder / "video8.npy").write_bytes(b"")
    np.save(folder / "video10.npy", np.full((2, 4), 1e6, np.float32))
    np.save(folder / "video11.npy", np.ones((2, 4), np.int64))
    out = tmp_path / "out"
    told = run("data", "convert", "msrvtt", tmp_path, out)
    assert "4 clips, 8 captions (en), features imported/frames of dimension 4" in told
    assert f"left out, no array in {tmp_path}: 1 (the first is 'video0')" in told
    for clip, reason in {
        "video1": "",
        "video3": "contains NaN or infinity",
        "video4": "",
        "video5": "vectors of dimension 7, but the others have 4",
        "video6": r"has the shape [2, 3, 4]",
        "video8": "",
        "video10": "contains 1e+06, too large for float16",
        "video11": "contains int64, not floats",
    }.items():
        assert f"{folder / clip}.npy: {reason}" in told
    dataset = load_dataset(out)
    assert [photo.image for photo in dataset.images] == ["video2", "video7", "video9", "video12"]
    assert load_features(dataset, "imported/frames").available.all()


def test_nothing_is_written_when_no_array_can_be_used(tmp_path: Path) -> None:
    put_msrvtt(tmp_path / "src", numbered(train=2, test=1), arrays=False)
    with pytest.raises(PolyglanceError, match=r"contains no array of the 3 clips.*-o frames=DIR"):
        run("data", "convert", "msrvtt", tmp_path / "src", tmp_path / "out")
    (tmp_path / "src" / "video0.npy").write_bytes(b"no array")
    with pytest.raises(PolyglanceError, match="no array can be used"):
        run("data", "convert", "msrvtt", tmp_path / "src", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_features_need_a_choice(tmp_path: Path) -> None:
    put_msrvtt(tmp_path, numbered(train=2, test=1))
    put_array(tmp_path / "i3d", "video0", dim=6)
    with pytest.raises(PolyglanceError, match="two arrays of one clip"):
        convert_msrvtt(tmp_path)
    result = convert_msrvtt(tmp_path, frames=str(tmp_path / "i3d"), name="i3d")
    assert (result.features[0].name, result.features[0].dim) == ("i3d", 6)
    assert [photo.image for photo in result.images] == ["video0"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "has no list 'videos'"),
        ({"videos": [{"video_id": "video0"}]}, r"videos\[0\]: field 'split' must be text"),
        ({"videos": [], "sentences": [3]}, r"sentences\[0\]: field 'video_id' must be text"),
        (
            {"videos": [], "sentences": [{"video_id": "a", "caption": 3}]},
            r"sentences\[0\]: a caption must be text",
        ),
        ({"videos": [], "sentences": []}, "no captions of clips in a split"),
    ],
)
def test_malformed_msrvtt(tmp_path: Path, value: object, message: str) -> None:
    put_json(tmp_path / "MSRVTT_data.json", value)
    with pytest.raises(PolyglanceError, match=message):
        convert_msrvtt(tmp_path)


def test_empty_captions_are_counted_and_left_out(tmp_path: Path) -> None:
    put_vatex(tmp_path, training=["t"], validation=["v", "w"])
    path = tmp_path / "vatex_training_v1.0.json"
    value = json.loads(path.read_text())
    value[0]["chCap"][4] = "  "
    put_json(path, value)
    result = convert_vatex(tmp_path)
    (train,) = [photo for photo in result.images if photo.split == "train"]
    assert [len(texts) for texts in train.captions["zh"].values()] == [4, 5]
    assert any(
        note.startswith("left out, empty captions: 1") and "[0].chCap[4]" in note
        for note in result.notes
    )


def test_pictures_and_wrong_options_are_refused(tmp_path: Path) -> None:
    put_msrvtt(tmp_path, numbered(train=2, test=1))
    with pytest.raises(PolyglanceError, match="remove --pictures"):
        convert_msrvtt(tmp_path, tmp_path)
    with pytest.raises(PolyglanceError, match="max_frames must be 0"):
        convert_msrvtt(tmp_path, max_frames=-1)
    with pytest.raises(PolyglanceError, match="split must be one of full, 1k-a, 1k-a-7k"):
        convert_msrvtt(tmp_path, split="9k")


def test_arrays_in_npz(tmp_path: Path) -> None:
    values = np.ones((1, 5, 2), np.float64)
    np.savez_compressed(tmp_path / "one.npz", whatever=values)
    np.testing.assert_array_equal(read_frames(tmp_path / "one.npz", 2), values[0, :2])
    np.savez(tmp_path / "two.npz", a=values, b=values)
    with pytest.raises(ValueError, match="contains 2 arrays, not one"):
        read_frames(tmp_path / "two.npz")


@given(st.integers(1, 400), st.integers(0, 60))
def test_frames_are_evenly_spread(count: int, most: int) -> None:
    rows = even_frames(count, most)
    assert len(rows) == (min(count, most) if most else count)
    assert rows[0] == 0
    assert (np.diff(rows) > 0).all()
    if len(rows) > 1:
        assert rows[-1] == count - 1
        assert np.ptp(np.diff(rows)) <= 1


@given(st.lists(st.text(max_size=4), unique=True, max_size=12), st.randoms(use_true_random=False))
def test_held_out_clips_do_not_depend_on_order(names: list[str], random) -> None:
    names = [name for name in names if name.isprintable()]
    shuffled = random.sample(names, len(names))
    half = hold_out(names, len(names) // 2)
    assert half == hold_out(shuffled, len(names) // 2)
    assert len(set(half)) == len(names) // 2


def test_arrays_are_read_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_msrvtt(tmp_path, numbered(train=5, test=1))
    (features,) = convert_msrvtt(tmp_path).features
    opened = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda path, **how: opened.append(path) or load(path, **how))
    items = features.items()
    assert opened == []
    next(items)
    assert len(opened) == 1


COLOURS = ("red", "green", "blue", "white", "black", "brown")
THINGS = ("dog", "cat", "horse", "car", "boat", "bird")


def put_planted(folder: Path) -> None:
    """60 clips; some frames show a colour, the others a thing, and the captions say both."""
    random = np.random.default_rng(0)
    videos, sentences = [], []
    for number in range(60):
        clip, split = f"video{number}", ("train", "train", "validate", "test")[number % 4]
        colour, thing = random.integers(0, 6, 2)
        frames = np.zeros((random.integers(3, 12), 12), np.float32)
        shown = np.arange(len(frames)) % 2
        frames[np.arange(len(frames)), np.where(shown, 6 + thing, colour)] = 4
        frames += random.normal(0, 0.1, frames.shape)
        (folder / "clips").mkdir(parents=True, exist_ok=True)
        np.save(folder / "clips" / f"{clip}.npy", frames.astype(np.float32))
        videos.append({"video_id": clip, "split": split})
        for words in ("a {} {} moves", "the {} {} is here", "look a {} {}"):
            text = words.format(COLOURS[colour], THINGS[thing])
            sentences.append({"video_id": clip, "caption": text})
    put_json(folder / "MSRVTT_data.json", {"videos": videos, "sentences": sentences})


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted clips, converted with at most six frames."""
    folder = tmp_path_factory.mktemp("clips")
    put_planted(folder / "src")
    run("data", "convert", "msrvtt", folder / "src", folder / "data", "-o", "max-frames=6")
    return folder / "data"


def test_info_names_the_features_and_no_missing_pictures(planted: Path) -> None:
    told = run("data", "info", planted)
    assert "no images folder, but imported features" in told
    assert "features imported/frames: 60 of 60, 3–6 vectors of dimension 12 each" in told
    assert "missing" not in told
    values = json.loads(run("data", "info", planted, "--json"))
    about = {"images": 60, "dimension": 12, "form": "set", "fewest": 3, "most": 6}
    assert values["features"] == {"imported/frames": about}
    assert values["sound"]


def test_converting_again_gives_the_same_files(planted: Path, tmp_path: Path) -> None:
    source = planted.parent / "src"
    run("data", "convert", "msrvtt", source, tmp_path / "again", "-o", "max_frames=6")
    for name in ("captions.jsonl.gz", "features/frames/vectors.f16", "features/frames/index.jsonl"):
        assert (tmp_path / "again" / name).read_bytes() == (planted / name).read_bytes()


def test_commands_that_need_pictures_say_so(planted: Path, tmp_path: Path) -> None:
    message = r"has no images to compute .* --set image\.feature=imported/frames"
    with pytest.raises(PolyglanceError, match=message):
        run("features", planted)
    with pytest.raises(PolyglanceError, match=message):
        run("train", "vsepp", "--data", planted, "--out", tmp_path / "run")


SMALL = (
    "image.dropout=0",
    "text.encoder.hidden=32",
    "text.embedder.word_dim=24",
    "text.embedder.min_count=1",
    "joint.dim=32",
    "training.batch_size=30",
    "training.lr=0.01",
    "training.epochs=12",
    "loss.warmup_epochs=2",
)


@pytest.mark.parametrize("recipe", ["video-vsepp", "video-vse-infinity"])
def test_clips_from_training_to_search(planted: Path, tmp_path: Path, recipe: str) -> None:
    model = tmp_path / "run"
    changes = [part for change in SMALL for part in ("--set", change)]
    run("train", recipe, "--data", planted, "--out", model, *changes)
    run("evaluate", model, "--data", planted, "--json", tmp_path / "report.json")
    result = json.loads((tmp_path / "report.json").read_text())["languages"]["en"]
    assert (result["images"], result["captions"]) == (15, 45)
    assert result["mr"] > 70 > 2 * result["chance_mr"]
    hits = run("search", model, planted, "a red dog", "--top", "3").splitlines()
    names = [line.split("\t")[1] for line in hits]
    assert len(names) == 3
    assert all(name.startswith("video") for name in names)
    with pytest.raises(PolyglanceError, match="leave out --sheet"):
        run("search", model, planted, "a red dog", "--sheet", tmp_path / "sheet.png")
