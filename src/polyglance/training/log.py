"""Metrics of a run: JSON lines, TensorBoard, and a plot of the curves."""

import importlib.util
import json
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic, has_file, read_jsonl

FILE, BOARD, CURVE = "metrics.jsonl", "tensorboard", "curve.png"
LOGS = (FILE, BOARD, CURVE)
"""What is written here."""


class RunLog:
    """Appends to metrics.jsonl and TensorBoard; lines after the resumed update are dropped."""

    def __init__(self, folder: Path, resumed_at: int = 0) -> None:
        self.path = folder / FILE
        kept = []
        if has_file(self.path):
            rows = (row for _, row in read_jsonl(_without_torn_line(self.path)))
            kept = [row for row in rows if _update(row, self.path) <= resumed_at]
        with atomic(self.path, "w") as handle:
            handle.writelines(json.dumps(row) + "\n" for row in kept)
        self._board: Any = None
        if importlib.util.find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / BOARD), purge_step=resumed_at + 1)

    def write(self, update: int, **values: Any) -> None:
        """Log the values of one update: numbers, or {language: number}."""
        with self.path.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps({"update": update, **values}) + "\n")
        if self._board is None:
            return
        for name, value in values.items():
            parts = value if isinstance(value, dict) else {"": value}
            for key, number in parts.items():
                if isinstance(number, int | float):
                    self._board.add_scalar(f"{name}/{key}".rstrip("/"), number, update)

    def close(self) -> None:
        """Flush TensorBoard's file."""
        if self._board is not None:
            self._board.close()


def _update(row: Any, path: Path) -> int:
    if isinstance(row, dict) and isinstance(row.get("update"), int):
        return row["update"]
    raise PolyglanceError(f"{path}: a line lacks the number 'update'; remove the file to continue")


def _without_torn_line(path: Path) -> Path:
    """Remove an incomplete last line, left by a kill."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if end != len(data):
        with atomic(path) as handle:
            handle.write(data[:end])
    return path


def draw_curve(folder: Path) -> None:
    """Draw curve.png from metrics.jsonl: the loss, and mR per language on the validation split."""
    if importlib.util.find_spec("matplotlib") is None:
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [row for _, row in read_jsonl(folder / FILE)]
    losses = [(row["update"], row["loss"]) for row in rows if "loss" in row]
    evaluated = [(row["update"], row["mr"]) for row in rows if "mr" in row]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(*zip(*losses, strict=True), linewidth=1) if losses else None
    left.set(xlabel="updates", ylabel="training loss", yscale="log")
    for code in sorted({code for _, mr in evaluated for code in mr}):
        points = [(update, mr[code]) for update, mr in evaluated if code in mr]
        right.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1, label=code)
    right.set(xlabel="updates", ylabel="mR on validation (%)")
    if evaluated:
        right.legend(ncols=2, fontsize="x-small")
    with atomic(folder / CURVE) as handle:
        FigureCanvasAgg(figure).print_png(handle)
