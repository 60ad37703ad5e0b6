"""Started by torchrun: trains the cases named, all processes together."""

import sys
from pathlib import Path

from polyglance.training.distributed.join import joined
from tests.training.distributed.cases import train_cases

if __name__ == "__main__":
    data, out, *names = sys.argv[1:]
    with joined() as team:
        train_cases(Path(data), Path(out), names, team.rank)
