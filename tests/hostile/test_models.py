"""A model folder opens no connection, runs no program and reads nothing outside of itself."""

import contextlib
import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from polyglance import Model
from polyglance.core.memory import peak_memory
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.vision.extraction.extract import load_features
from tests.conftest import write_toy
from tests.hostile.cases import more, outcome
from tests.hostile.models import HUGE, change, model_cases, write_model, write_vectors_model
from tests.hostile.watch import outside, watched

CASES = more(60)


def test_every_folder_is_read_or_refused_and_leads_nowhere(tmp_path: Path) -> None:
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)
        for number, case in enumerate(model_cases(CASES)):
            folder = tmp_path / str(number)

            def read(path: Path, folder: Path = folder) -> None:
                with watched() as events:
                    try:
                        Model.load(path)
                    finally:
                        assert not outside(events, folder, tmp_path)

            refused += bool(outcome(case, read, folder))
    assert refused >= 60


def test_a_network_of_another_size_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    """In a process of its own: the peak is that of all its life."""
    write_model(tmp_path)
    change(tmp_path / "model.json", "feature_dim", HUGE)
    program = (
        "import sys\n"
        "from polyglance import Model\n"
        "from polyglance.errors import PolyglanceError\n"
        "from polyglance.core.memory import reset_peak_memory, peak_memory\n"
        "reset_peak_memory(); before = peak_memory()\n"
        "try:\n    Model.load(sys.argv[1])\n"
        "except PolyglanceError as error:\n    print(peak_memory() - before, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    taken, _, said = done.stdout.partition(" ")
    assert f"{HUGE}" in said
    assert peak_memory() is None or int(taken) < 300 << 20  # 4 GB for the layer alone


def test_vectors_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    folder = write_vectors_model(tmp_path / "model", tmp_path / "elsewhere")
    with watched() as events, pytest.warns(PolyglanceWarning, match="is outside"):
        model = Model.load(folder)
    assert not outside(events, folder, tmp_path)
    assert model.embedder.unknown(["dogs"], "en")[1] == ("dogs",)
    trusted = Model.load(folder, trust=True)
    assert trusted.embedder.unknown(["dogs"], "en")[1] == ()
    model.save(tmp_path / "again")  # and what was not read is not copied either
    assert json.loads((tmp_path / "again" / "words.json").read_text()) == json.loads(
        (folder / "words.json").read_text()
    )


@pytest.mark.parametrize("place", ["../elsewhere/en.bin", "link/en.bin", "~/en.bin"])
def test_no_way_of_writing_a_path_leads_outside(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    folder = write_vectors_model(tmp_path / "model", tmp_path / "elsewhere")
    change(folder / "words.json", "languages.en.file", place)
    with watched() as events, warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)
        if place.startswith("link"):
            (folder / "link").symlink_to(tmp_path / "elsewhere")
            with pytest.raises(PolyglanceError, match="a link out of the model's folder"):
                Model.load(folder)
        else:
            assert Model.load(folder).embedder.unknown(["dogs"], "en")[1] == ("dogs",)
    assert not outside(events, folder, tmp_path)


def test_features_outside_the_dataset_are_not_read(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "toy", photos=8)
    (tmp_path / "toy" / "features" / "toy").rename(tmp_path / "stolen")
    with pytest.raises(PolyglanceError, match="no imported features"):
        load_features(load_dataset(toy), "imported/../../stolen")


def test_a_program_in_an_encoders_folder_is_not_run(tmp_path: Path, bert: Path) -> None:
    from tests.text.pieces import piece_model

    folder, marker = tmp_path / "model", tmp_path / "ran"
    piece_model(bert).save(folder)
    Model.load(folder)
    code = f"open({str(marker)!r}, 'w').close()\nclass Config: pass\nclass Tokenizer: pass\n"
    (folder / "encoder" / "evil.py").write_text(code)
    for file, key, name in (
        ("config.json", "AutoConfig", "evil.Config"),
        ("tokenizer_config.json", "AutoTokenizer", ["evil.Tokenizer", None]),
    ):
        before = (folder / "encoder" / file).read_text()
        changed = {**json.loads(before), "auto_map": {key: name}, "model_type": "evil"}
        (folder / "encoder" / file).write_text(json.dumps(changed))
        with watched() as events, contextlib.suppress(PolyglanceError):
            Model.load(folder)
        assert not outside(events, folder, tmp_path)
        (folder / "encoder" / file).write_text(before)
    assert not marker.exists()


def test_weights_in_an_encoders_folder_are_not_read(tmp_path: Path, bert: Path) -> None:
    from tests.text.pieces import piece_model

    piece_model(bert).save(tmp_path)
    (tmp_path / "encoder" / "pytorch_model.bin").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(PolyglanceError, match="unexpected weights"):
        Model.load(tmp_path)
