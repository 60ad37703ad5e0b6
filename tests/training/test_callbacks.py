"""Events of a training: which, when, in which order, and what callbacks can do at them."""

import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.errors import PolyglanceError
from polyglance.training import Callback, Trainer, WatchCollapse, WriteCheckpoints
from polyglance.training.callbacks import ShowProgress, WriteLog, with_defaults
from polyglance.training.checkpoint import FILE
from polyglance.training.steps import StepOutcome
from tests.training.runs import StopAfter, run, same, stop_after

SHORT = ("training.updates=5", "training.evaluate_every=2")


class Record(Callback):
    """Writes down what happens."""

    def __init__(self, name: str = "", events: list[tuple] | None = None) -> None:
        self.name = name
        self.events: list[tuple] = [] if events is None else events
        self.rates: list[float] = []

    def _add(self, event: str, trainer: Trainer, *more: Any) -> None:
        self.events.append((self.name + event, trainer.done.update, *more))

    def on_start(self, trainer: Trainer) -> None:
        self._add("start", trainer)

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        self._add("update", trainer, size)
        self.rates.append(rate)
        assert float(outcome.loss.detach()) > 0

    def on_evaluation(self, trainer: Trainer, row: dict[str, Any]) -> None:
        self._add("evaluation", trainer, row["rsum"])
        assert set(row) == {"epoch", "rsum", "mr"}
        assert trainer.done.evaluations[-1] == {"update": trainer.done.update, **row}

    def on_checkpoint(self, trainer: Trainer) -> None:
        self._add("checkpoint", trainer)
        assert (trainer.out / FILE).is_file()

    def on_stop(self, trainer: Trainer) -> None:
        self._add("stop", trainer, trainer.done.finished)


def test_events_and_their_order(toy: Path, tmp_path: Path) -> None:
    record = Record()
    result = run(toy, tmp_path / "run", *SHORT, callbacks=[record])
    rsums = {row["update"]: row["rsum"] for row in result.progress.evaluations}
    assert record.events == [
        ("start", 0),
        ("update", 1, 32),
        ("update", 2, 32),
        ("evaluation", 2, rsums[2]),
        ("checkpoint", 2),
        ("update", 3, 32),
        ("update", 4, 32),
        ("evaluation", 4, rsums[4]),
        ("checkpoint", 4),
        ("update", 5, 32),
        ("evaluation", 5, rsums[5]),
        ("checkpoint", 5),
        ("checkpoint", 5),
        ("stop", 5, "all 5 updates done"),
    ]
    assert record.rates == [0.01] * 5


def test_a_resumed_training_starts_where_the_checkpoint_is(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "whole", *SHORT)
    first, second = Record(), Record()
    # Update 3 is in no checkpoint: those are written after evaluations alone.
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", *SHORT, callbacks=[first, StopAfter(3)])
    assert first.events[-1] == ("stop", 3, "")
    run(toy, tmp_path / "cut", *SHORT, resume=True, callbacks=[second])
    assert [event[:2] for event in second.events[:2]] == [("start", 2), ("update", 3)]
    assert same(tmp_path / "whole", tmp_path / "cut")


def test_callbacks_are_called_in_order_and_stopped_in_reverse(toy: Path, tmp_path: Path) -> None:
    events: list[tuple] = []
    both = [Record("a ", events), Record("b ", events)]
    run(toy, tmp_path / "run", "training.updates=1", callbacks=both)
    names = [name for name, *_ in events]
    assert names[:4] == ["a start", "b start", "a update", "b update"]
    assert names[-2:] == ["b stop", "a stop"]


def test_only_what_has_started_is_stopped(toy: Path, tmp_path: Path) -> None:
    class Broken(Callback):
        def on_start(self, trainer: Trainer) -> None:
            raise PolyglanceError("no")

    before, after = Record(), Record()
    with pytest.raises(PolyglanceError, match=r"^no$"):
        run(toy, tmp_path / "run", callbacks=[before, Broken(), after])
    assert before.events == [("start", 0), ("stop", 0, "")]
    assert after.events == []


def test_every_callback_is_stopped_though_one_fails_at_it(toy: Path, tmp_path: Path) -> None:
    class Broken(Callback):
        def on_stop(self, trainer: Trainer) -> None:
            raise PolyglanceError("no")

    record = Record()
    with pytest.raises(PolyglanceError, match=r"^no$"):
        run(toy, tmp_path / "run", "training.updates=1", callbacks=[record, Broken()])
    assert record.events[-1][0] == "stop"


def test_callbacks_see_a_training_and_change_nothing(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "plain", *SHORT)
    run(toy, tmp_path / "seen", *SHORT, callbacks=[Record(), WriteCheckpoints(0.0), WriteLog(1)])
    assert same(tmp_path / "plain", tmp_path / "seen")


def test_defaults_come_first_and_are_replaced_by_their_class() -> None:
    kinds = [WatchCollapse, ShowProgress, WriteLog, WriteCheckpoints]
    assert [type(one) for one in with_defaults([])] == kinds
    mine, often, early = Record(), WriteCheckpoints(5.0), WatchCollapse(20)
    found = with_defaults([mine, often, early])
    assert [type(one) for one in found] == [*kinds, Record]
    assert (found[0], found[3], found[4]) == (early, often, mine)

    class Quiet(WriteLog):
        pass

    quiet = Quiet()
    assert with_defaults([quiet])[2] is quiet


def test_checkpoints_are_written_between_evaluations(toy: Path, tmp_path: Path) -> None:
    long = ("training.updates=5", "training.evaluate_every=99")
    record = Record()
    run(toy, tmp_path / "often", *long, callbacks=[WriteCheckpoints(seconds=0.0), record])
    assert [u for event, u, *_ in record.events if event == "checkpoint"] == [1, 2, 3, 4, 5, 5, 5]
    record = Record()
    run(toy, tmp_path / "rarely", *long, callbacks=[WriteCheckpoints(seconds=9999), record])
    assert [u for event, u, *_ in record.events if event == "checkpoint"] == [5, 5]


def test_a_log_of_every_update(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "run", *SHORT, callbacks=[WriteLog(every=1)])
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["update"] for row in rows if "loss" in row] == [1, 2, 3, 4, 5]
    assert [row["update"] for row in rows if "rsum" in row] == [2, 4, 5]
    assert all("captions_per_second" in row for row in rows if "loss" in row)


def test_collapsed_updates_are_counted_over_an_interruption(tmp_path: Path) -> None:
    from tests.conftest import write_toy

    toy = write_toy(tmp_path / "toy", planted=0.0)
    cold = ("loss.warmup_epochs=0", "training.epochs=50", "training.evaluate_every=9999")

    class Count(Callback):
        def __init__(self) -> None:
            self.seen: list[tuple[int, int]] = []

        def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
            self.seen.append((trainer.done.update, trainer.done.collapsed))

    whole, cut = Count(), Count()
    with pytest.raises(PolyglanceError, match="collapsed: for 20 updates"):
        run(toy, tmp_path / "whole", *cold, callbacks=[WatchCollapse(20), whole])
    last, count = whole.seen[-1]
    # The update that ends the training is not seen by callbacks behind.
    assert count == 19
    early = [WatchCollapse(20), *stop_after(last - 5), cut]
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", *cold, callbacks=early)
    with pytest.raises(PolyglanceError, match="collapsed: for 20 updates"):
        run(toy, tmp_path / "cut", *cold, callbacks=[WatchCollapse(20), cut], resume=True)
    assert cut.seen[-1] == (last, 19)


def test_the_loss_shown_is_a_mean(toy: Path, tmp_path: Path) -> None:
    """One batch's loss goes up and down, and looks like a fault."""
    notes: list[str] = []
    losses: list[float] = []

    class Listen(ShowProgress):
        def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
            super().on_update(trainer, outcome, rate, size)
            notes.append(self.bar._note)
            losses.append(float(outcome.loss.detach()))

    run(toy, tmp_path / "run", *SHORT, callbacks=[Listen(False)])
    means = [sum(losses[:n]) / n for n in range(1, 6)]
    shown = [float(note.split("mean loss ")[1].split()[0]) for note in notes]
    assert shown == pytest.approx(means, abs=1e-3)
