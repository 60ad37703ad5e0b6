"""Packs that are damaged, forged or made to harm: one sentence, and nothing is written."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polyglance.errors import PolyglanceError
from polyglance.storage.digest import json_digest
from polyglance.studies import Study, make_plan
from polyglance.studies.packs import archive, import_runs, write_pack
from polyglance.studies.plan import DataFacts, Plan
from polyglance.studies.running.execute import Options
from tests.studies.planted import facts, plant

STUDY = {
    "title": "Planted",
    "paper": "nobody",
    "columns": [{"language": "en"}],
    "rows": [{"name": "one", "recipe": "vsepp"}],
    "profiles": {"standard": {"seeds": 2}},
}
Members = dict[str, bytes]


@pytest.fixture(scope="module")
def known() -> DataFacts:
    return facts(30)


@pytest.fixture(scope="module")
def plan(known: DataFacts) -> Plan:
    return make_plan(Study.model_validate(STUDY), "standard", known)


@pytest.fixture
def pack(plan: Plan, known: DataFacts, tmp_path: Path) -> Path:
    options = Options("data", tmp_path / "there")
    plant(plan, known, options, lambda run, language: 0.5)
    assert write_pack(tmp_path / "a.zip", plan, known, options) == 2
    return tmp_path / "a.zip"


def read(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path: Path, members: Members, how: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", how) as file:
        for name, content in members.items():
            file.writestr(name, content)


def refused(path: Path, plan: Plan, known: DataFacts, why: str) -> None:
    runs = path.parent / "here"
    with pytest.raises(PolyglanceError, match=why) as error:
        import_runs([path], plan, known, Options("data", runs))
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    assert not list(runs.rglob("*"))


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    """A change of the JSON of the last run in a pack."""

    def apply(members: Members) -> None:
        name = [name for name in members if name.startswith("runs/")][-1]
        value = json.loads(members[name])
        change(value)
        members[name] = json.dumps(value).encode()

    return apply


def result(value: dict[str, Any]) -> dict[str, Any]:
    return value["results"]["test.best.en.json"]


def ranks(value: dict[str, Any]) -> dict[str, str]:
    return result(value)["languages"]["en"]["ranks"]


def swap_keys(members: Members) -> None:
    one, two = [name for name in members if name.startswith("runs/")]
    members[one], members[two] = members[two], members[one]


def short_part(members: Members) -> None:
    name = next(name for name in members if name.endswith(".u1"))
    members[name] = members[name][:-1]


def other_photos(members: Members) -> None:
    name = next(name for name in members if name.startswith("parts/") and name.endswith(".json"))
    members[name] = members[name].replace(b"0.jpg", b"x.jpg")


FORGED = {
    "format": (lambda m: m.update({"pack.json": b'{"format": 2}'}), "of format 2, not 1"),
    "no about": (lambda m: m.pop("pack.json"), "has no pack.json"),
    "not JSON": (lambda m: m.update({"pack.json": b"{"}), "pack.json: "),
    "deep": (lambda m: m.update({"pack.json": b"[" * 200_000}), "pack.json: "),
    "list": (lambda m: m.update({"pack.json": b"[]"}), "pack.json is not an object"),
    "path": (lambda m: m.update({"../../evil.json": b"{}"}), r"member '../../evil.json'"),
    "absolute": (lambda m: m.update({"/etc/x": b"{}"}), "not part of a pack"),
    "escape": (lambda m: m.update({"\x1b[31m": b"{}"}), r"member '\\x1b\[31m'"),
    "keys": (swap_keys, "does not match its key"),
    "no identity": (changed(lambda v: v.pop("identity")), "does not match its key"),
    "recipe": (changed(lambda v: v["identity"].update(data="x")), "does not match its key"),
    "no end": (changed(lambda v: v.pop("done")), "no 'done'"),
    "seconds": (changed(lambda v: v["done"].update(seconds="long")), "seconds: "),
    "endless": (changed(lambda v: v["done"].update(seconds=float("inf"))), "number in done.json"),
    "negative": (changed(lambda v: v["done"].update(updates=-1)), "number in done.json"),
    "machine": (changed(lambda v: v["done"].update(machine="a\x1b[2J")), "text in done.json"),
    "results": (changed(lambda v: v.update(results=[])), "attribute 'items'"),
    "name": (changed(lambda v: v["results"].update({"../x.json": {}})), "the name '../x.json'"),
    "language": (changed(lambda v: v["results"].update({"test.best.de.json": result(v)})), "or la"),
    "folds": (changed(lambda v: result(v).update(folds=10**9)), "number of folds"),
    "part": (changed(lambda v: ranks(v).update(photo="parts/" + "0" * 24 + ".u1")), "has no parts"),
    "swapped": (changed(lambda v: ranks(v).update(photo=result(v)["photos"])), "run [0-9a-f]{24}"),
    "lost": (changed(lambda v: ranks(v).pop("photo")), "damaged report"),
    "short": (short_part, "are out of range"),
    "photos": (other_photos, "has other images or measures"),
    "measures": (changed(lambda v: v["results"].update({"measures.json": {}})), "values: "),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_pack_is_refused(name: str, pack: Path, plan: Plan, known: DataFacts) -> None:
    change, why = FORGED[name]
    members = read(pack)
    change(members)
    write(pack, members)
    refused(pack, plan, known, why)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_half_a_file_is_refused(share: float, pack: Path, plan: Plan, known: DataFacts) -> None:
    content = pack.read_bytes()
    pack.write_bytes(content[: int(share * len(content))])
    refused(pack, plan, known, "a damaged pack of runs")


def test_a_flipped_bit_is_noticed(pack: Path, plan: Plan, known: DataFacts) -> None:
    content = bytearray(pack.read_bytes())
    with zipfile.ZipFile(pack) as file:
        run = next(one for one in file.infolist() if one.filename.startswith("runs/"))
    content[run.header_offset + 30 + len(run.filename) + run.compress_size // 2] ^= 16
    pack.write_bytes(content)
    refused(pack, plan, known, "a damaged pack of runs")


def test_a_member_that_is_there_twice_or_packed_otherwise_is_refused(
    pack: Path, plan: Plan, known: DataFacts
) -> None:
    members = read(pack)
    write(pack, members, zipfile.ZIP_LZMA)
    refused(pack, plan, known, "compressed with another method")
    write(pack, members)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(pack, "a") as file:
        file.writestr("pack.json", "{}")
    refused(pack, plan, known, "occurs twice")


def test_bombs_are_refused_before_they_are_unpacked(
    pack: Path, plan: Plan, known: DataFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = read(pack)
    write(pack, {**members, "parts/" + "0" * 24 + ".u4": bytes(archive.MAX_MEMBER + 1)})
    assert pack.stat().st_size < 1 << 20
    refused(pack, plan, known, "has more than 64 MiB")
    write(pack, members)
    monkeypatch.setattr(archive, "MAX_ALL", 1000)
    refused(pack, plan, known, "more than 500,000 members or 0 GiB")


def test_missing_files_and_other_formats_are_refused(
    plan: Plan, known: DataFacts, tmp_path: Path
) -> None:
    refused(tmp_path / "none.zip", plan, known, "no such pack of runs")
    (tmp_path / "text.zip").write_text("PK?")
    refused(tmp_path / "text.zip", plan, known, "not a zip file")


def test_one_bad_file_leaves_the_good_one_alone(
    pack: Path, plan: Plan, known: DataFacts, tmp_path: Path
) -> None:
    (tmp_path / "b.zip").write_bytes(b"")
    with pytest.raises(PolyglanceError, match=r"b\.zip: a damaged pack"):
        import_runs([pack, tmp_path / "b.zip"], plan, known, Options("data", tmp_path / "here"))
    assert not (tmp_path / "here").exists()


def test_a_measure_must_be_the_runs_own(tmp_path: Path) -> None:
    value = {
        "title": "Measured",
        "paper": "nobody",
        "experiment": "pooling-patterns",
        "columns": [{"measure": "seen A", "unit": "RMSE", "better": "lower"}],
        "rows": [{"name": "gpo"}],
        "profiles": {"standard": {"seeds": 1}},
    }
    made = make_plan(Study.model_validate(value), "standard")
    (run,) = made.runs.values()
    assert run.trial is not None
    identity = {"experiment": "pooling-patterns", "version": 1, "settings": {}}
    assert json_digest(identity)[:24] == run.key
    about = {"identity": identity, "done": {"seconds": 1.0}, "results": {}}
    for measures in ({}, {"measures.json": {"values": {"seen L": 0.1}}}):
        members = {"pack.json": b'{"format": 1}'}
        members[f"runs/{run.key}.json"] = json.dumps({**about, "results": measures}).encode()
        write(tmp_path / "a.zip", members)
        with pytest.raises(PolyglanceError, match="measures"):
            import_runs([tmp_path / "a.zip"], made, None, Options("", tmp_path / "here"))
    assert not (tmp_path / "here").exists()
