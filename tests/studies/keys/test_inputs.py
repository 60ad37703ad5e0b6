"""The content of what a run reads beside its data is part of its identity, its path is not."""

import os
import shutil
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe
from polyglance.storage.files import write_json
from polyglance.studies import Study, make_plan
from polyglance.studies.format.measured import make_trial, trial_key
from polyglance.studies.keys.digests import Digests
from polyglance.studies.keys.fingerprint import run_key, unrevised_key
from polyglance.studies.keys.inputs import MISSING, run_inputs
from polyglance.studies.plan import DataFacts, Plan
from polyglance.studies.running.migrate import migrate_runs
from polyglance.studies.running.store import RunFolder, RunOutcome
from tests.studies.planted import SPLIT, dataset, facts

DUTCH = "vectors"


@pytest.fixture(autouse=True)
def _no_lexicon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Everything that a recipe may name."""
    (tmp_path / "lexicon.tsv").write_text("1\ten\tdog\n1\tde\tHund\n")
    (tmp_path / "concepts.jsonl").write_text("{}\n")
    (tmp_path / "vec").mkdir()
    for code in ("en", "de"):
        (tmp_path / "vec" / f"{code}.vec").write_text(f"1 2\n{code} 1 2\n")
    (tmp_path / "glove.txt").write_text("dog 1 2\n")
    (tmp_path / "roles.json").write_text("{}")
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text("{}")
    (tmp_path / "bert" / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "bert" / "README.md").write_text("not read")
    (tmp_path / "pairs.txt").write_text("Hund dog\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "model.json").write_text("{}")
    return tmp_path


LEXICON = {"text.embedder.corpus": "lexicon"}
NAMES = {"kind": "classes", "start": "names"}
CASES = [
    ("mule", LEXICON, "lexicon.tsv", "text.embedder.lexicon"),
    ("dictionary", {}, "lexicon.tsv", "text.embedder.lexicon"),
    ("nce", {"image.head": NAMES}, "lexicon.tsv", "image.head.lexicon"),
    (
        "nce",
        {"image.head.kind": "classes", "naming.concepts": "concepts.jsonl"},
        "concepts.jsonl",
        "naming.concepts",
    ),
    ("mule", {"text.embedder.vectors": "vec"}, "vec/de.vec", "text.embedder.vectors:de"),
    ("liwe-glove", {"text.embedder.vectors": "glove.txt"}, "glove.txt", "text.embedder.vectors"),
    ("hgr", {"text.embedder.graphs": "roles.json"}, "roles.json", "text.embedder.graphs"),
    (
        "vse-infinity-bert",
        {"text.encoder.pretrained": "bert"},
        "bert/model.safetensors",
        "text.encoder.pretrained",
    ),
    ("vse0", {"transfer": {"source": "run:a", "keep": True}}, "lexicon.tsv", "transfer.lexicon"),
    (
        "vse0",
        {"transfer": {"source": "old", "keep": True, "dictionary": "pairs.txt"}},
        "pairs.txt",
        "transfer.dictionary:pairs.txt",
    ),
    (
        "vse0",
        {"transfer": {"source": "old", "keep": True, "dictionary": "captions"}},
        "old/model.json",
        "transfer.source",
    ),
]


def made(recipe: str, changes: dict, folder: Path) -> Recipe:
    """A recipe whose paths are in a folder."""
    text = {k: str(folder / v) if (folder / str(v)).exists() else v for k, v in changes.items()}
    if isinstance(inner := changes.get("transfer"), dict):
        there = {k: str(folder / str(v)) for k, v in inner.items() if (folder / str(v)).exists()}
        text["transfer"] = {**inner, **there}
    return load_recipe(recipe, text)


def key(recipe: Recipe, folder: Path) -> tuple[str, dict[str, str]]:
    digests = Digests(folder / "cache")
    inputs = run_inputs(recipe, ["en", "de"], folder / "lexicon.tsv")
    files = {one.name: one.digest(digests) for one in inputs}
    return run_key(recipe, "data", None, files), files


@pytest.mark.parametrize(("recipe", "changes", "file", "name"), CASES)
def test_a_changed_file_is_another_run(
    recipe: str, changes: dict, file: str, name: str, folder: Path
) -> None:
    before, files = key(made(recipe, changes, folder), folder)
    assert name in files
    assert MISSING not in files.values()
    (folder / file).write_bytes((folder / file).read_bytes() + b"\n")
    after, changed = key(made(recipe, changes, folder), folder)
    assert [one for one in files if files[one] != changed[one]] == [name]
    assert after != before


@pytest.mark.parametrize(("recipe", "changes", "file", "name"), CASES)
def test_the_same_files_elsewhere_are_the_same_run(
    recipe: str, changes: dict, file: str, name: str, folder: Path, tmp_path_factory
) -> None:
    other = tmp_path_factory.mktemp("elsewhere") / "moved"
    shutil.copytree(folder, other)
    assert key(made(recipe, changes, folder), folder) == key(made(recipe, changes, other), other)


def test_files_that_are_not_read_do_not_count(folder: Path) -> None:
    recipe = made("vse-infinity-bert", {"text.encoder.pretrained": "bert"}, folder)
    before = key(recipe, folder)
    (folder / "bert" / "README.md").write_text("another")
    assert key(recipe, folder) == before
    plain = load_recipe("vse0")
    assert key(plain, folder) == (unrevised_key(plain, "data"), {})
    random = {"transfer": {"source": "run:a", "translator": "random"}}
    assert key(load_recipe("translator", random), folder)[1] == {}


def test_a_missing_file_can_be_planned_and_is_another_run(folder: Path) -> None:
    recipe = made("mule", {"text.embedder.vectors": "vec"}, folder)
    before, _ = key(recipe, folder)
    (folder / "vec" / "de.vec").unlink()
    after, files = key(recipe, folder)
    assert files["text.embedder.vectors:de"] == MISSING
    assert after != before


def test_large_files_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyglance.studies.keys.digests.SHOWN", 1)
    file = folder / "glove.txt"
    found = Digests(folder / "cache").of_file(file)
    read = []
    monkeypatch.setattr(
        "polyglance.studies.keys.digests.file_chunks", lambda p: read.append(p) or []
    )
    assert Digests(folder / "cache").of_file(file) == found
    assert read == []
    file.write_text("dog 1 3\n")
    Digests(folder / "cache").of_file(file)
    assert read == [file.resolve()]


def test_a_lexicon_may_be_a_folder_of_dictionaries(folder: Path) -> None:
    dictionaries = folder / "muse"
    dictionaries.mkdir()
    (dictionaries / "de-en.txt").write_text("hund dog\n")
    recipe, digests = load_recipe("dictionary"), Digests(folder / "cache")

    def digest() -> str:
        return run_inputs(recipe, ["en", "de"], dictionaries)[0].digest(digests)

    before = digest()
    (dictionaries / "fr-en.txt").write_text("chien dog\n")
    assert MISSING != digest() != before


def test_a_pipe_is_an_error(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(PolyglanceError, match="a named pipe"):
        Digests(folder / "cache").of_file(folder / "pipe")


STUDY = Study.model_validate(
    {
        "title": "t",
        "paper": "p",
        "columns": [
            {"name": "de", "language": "de"},
            {"name": "MT", "language": "de", "machine": {"translator": "lexicon:"}},
        ],
        "rows": [
            {
                "name": "mapped",
                "recipe": "vse0",
                "overrides": {
                    "data.languages": ["de"],
                    "transfer": {"source": "source:old", "keep": True},
                },
            }
        ],
        "sources": {"old": {"recipe": "vse0", "overrides": {"data.languages": ["en"]}}},
        "profiles": {"standard": {"seeds": 1}},
    }
)


def planned(folder: Path) -> Plan:
    known = DataFacts.of(dataset(20), SPLIT, folder / "lexicon.tsv", folder / "cache")
    return make_plan(STUDY, facts=known)


def test_a_plan_follows_the_lexicon(folder: Path) -> None:
    first = planned(folder)
    (folder / "lexicon.tsv").write_text("1\ten\tdog\n1\tde\tKöter\n")
    second = planned(folder)
    both = list(first.runs.values()), list(second.runs.values())
    assert both[0][0].key == both[1][0].key  # the English model reads no lexicon
    assert both[0][1].key != both[1][1].key
    views = [{need.view for need in runs[1].needs} for runs in both]
    assert len(views[0] - views[1]) == 1  # translated captions are evaluated again


def old_run(folder: Path, key: str, recipe: Recipe, fingerprint: str) -> RunFolder:
    """A finished run as it was described before files were part of keys."""
    run, dumped = RunFolder(folder / "runs" / key), recipe.model_dump(mode="json")
    write_json(run.path / "run.json", {"for": ["x"], "recipe": dumped})
    write_json(run.model / "model.json", {"recipe": dumped, "fingerprint": fingerprint})
    run.finish(RunOutcome(1.0))
    return run


@pytest.mark.parametrize(("touched", "found"), [(False, 1), (True, 0)])
def test_a_finished_run_is_found_again_unless_its_file_has_changed_since(
    touched: bool, found: int, folder: Path
) -> None:
    known = DataFacts.of(dataset(20), SPLIT, folder / "lexicon.tsv", folder / "cache")
    run = list(make_plan(STUDY, facts=known).runs.values())[1]
    assert run.recipe is not None
    source = old_run(folder, str(run.source), load_recipe("vse0"), known.fingerprint)
    former = unrevised_key(run.recipe, known.fingerprint, known.dataset)
    old_run(folder, former, run.recipe, known.fingerprint)
    if touched:
        later = (source.path / "done.json").stat().st_mtime + 100
        os.utime(folder / "lexicon.tsv", (later, later))
    assert migrate_runs(folder / "runs", known) == found
    names = {path.name for path in (folder / "runs").iterdir()}
    assert names == {source.path.name, former if touched else run.key}


def test_a_trial_counts_the_lexicon_only_if_it_reads_it() -> None:
    def keys(dictionary: str) -> set[str]:
        changes = [{"dictionary": dictionary, "lexicon": digest} for digest in ("a", "b")]
        return {trial_key(make_trial("word-alignment", [one], None)) for one in changes}

    assert len(keys("lexicon")) == 2
    assert len(keys("captions")) == 1


def test_facts_without_a_lexicon_can_be_planned() -> None:
    runs = list(make_plan(STUDY, facts=facts(20)).runs.values())
    assert runs[1].files == {"transfer.lexicon": MISSING}
