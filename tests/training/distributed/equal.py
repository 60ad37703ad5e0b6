"""Started by torchrun: trains the cases named, all processes together; and interrupts a run."""

import sys
from contextlib import suppress
from pathlib import Path

from polyglance.training.distributed.join import joined
from tests.training.distributed.cases import FEW, train_cases
from tests.training.runs import run, stop_after

DROPOUT = [*FEW, "text.word_dropout=0.3"]

if __name__ == "__main__":
    data, out, *names = sys.argv[1:]
    with joined() as world:
        train_cases(Path(data), Path(out), names, world.rank)
        whole, cut = Path(out) / "whole", Path(out) / "cut"
        run(Path(data) / "toy", whole, *DROPOUT)
        with suppress(KeyboardInterrupt):
            run(Path(data) / "toy", cut, *DROPOUT, callbacks=stop_after(3))
        run(Path(data) / "toy", cut, *DROPOUT, resume=True)
