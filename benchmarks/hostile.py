"""How many malicious inputs are read and how many rejected; any other outcome is an error.

    python benchmarks/hostile.py [TIMES]
    python benchmarks/hostile.py uploads [COUNT]

TIMES multiplies the random cases of the tests in tests/hostile. `uploads` sends COUNT mutated
images to the service with the included model. Run it in the repository's root.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from polyglance.data import load_dataset
from polyglance.data.images.read import read_image
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import load_recipe
from tests.hostile.cases import Case, outcome
from tests.hostile.documents import document_cases
from tests.hostile.models import model_cases, write_model
from tests.hostile.pictures import picture_cases
from tests.hostile.queries import queries
from tests.hostile.tables import table_cases
from tests.hostile.watch import CONNECTIONS, PROGRAMS, watched

Outcome = Callable[[Path], bool]
"""Tries a case in a folder; whether it was rejected."""


def tries(times: int, folder: Path) -> dict[str, Iterator[Outcome]]:
    """Cases by corpus."""
    corpora: dict[str, tuple[Iterator[Case], Callable[[Path], object]]] = {
        "images": (picture_cases(400 * times), lambda path: read_image(path, 64)),
        "tables and dataset folders": (table_cases(200 * times), load_dataset),
        "model folders": (model_cases(60 * times), Model.load),
        "recipes": (document_cases(60 * times), lambda path: load_recipe(str(path))),
    }
    found = {name: _each(cases, read) for name, (cases, read) in corpora.items()}
    model = Model.load(write_model(folder / "model"))
    found["queries"] = (partial(_asked, model, query) for query in queries(200 * times))
    return found


def _each(cases: Iterator[Case], read: Callable[[Path], object]) -> Iterator[Outcome]:
    for case in cases:
        yield partial(_refused, case, read)


def _refused(case: Case, read: Callable[[Path], object], folder: Path) -> bool:
    return bool(outcome(case, read, folder))


def _asked(model: Model, query: str, folder: Path) -> bool:
    try:
        model.encode_text(query)
    except PolyglanceError:
        return True
    return False


def send_uploads(count: int) -> None:
    """Send mutated images to the service; a line per thousand, with the memory in MB."""
    from starlette.testclient import TestClient

    from polyglance.serve import make_app
    from polyglance.serve.service import Service
    from tests.serve.mutated import resident, send, uploads
    from tests.serve.shipped import shipped_collection

    print("| uploads | found | refused | other | decoders | service MB | decoder MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as made:
        service = Service(shipped_collection(Path(made)))
        client = TestClient(make_app(service), base_url="http://localhost")
        decoder, processes = service.now.engine.decoder, set()
        for tally in send(client, uploads(count)):
            running = [one.process.pid for one in decoder.processes if one.process is not None]
            processes.update(running)
            if tally.count % 1000 == 0 or tally.count == 100:
                found, other = (
                    tally.statuses[200],
                    tally.count - tally.statuses[200] - tally.refused,
                )
                memory = [resident() / 1e6, sum(resident(pid) for pid in running) / 1e6]
                numbers = (tally.count, found, tally.refused, other, len(processes))
                shown = " | ".join([*map(str, numbers), *(f"{one:.0f}" for one in memory)])
                print(f"| {shown} |", flush=True)
        print(f"all: {dict(tally.statuses)}")
        service.close()


def main() -> None:
    if sys.argv[1:2] == ["uploads"]:
        send_uploads(int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
        return
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    warnings.simplefilter("ignore")
    print("| corpus | inputs | read | refused | connections | programs | seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as made:
        for name, cases in tries(times, Path(made)).items():
            start, refused, count = time.process_time(), 0, 0
            with watched() as events:
                for count, case in enumerate(cases, 1):
                    refused += case(Path(made, name, str(count)))
            connections, programs = (
                sum(event in kinds for event, _ in events) for kinds in (CONNECTIONS, PROGRAMS)
            )
            seconds = time.process_time() - start
            numbers = (count, count - refused, refused, connections, programs)
            print(f"| {name} | {' | '.join(map(str, numbers))} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
