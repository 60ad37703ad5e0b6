"""Processes that would not train the same are refused."""

from dataclasses import dataclass
from typing import Any

import pytest
from torch import nn

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.training.distributed import Share, World
from polyglance.training.distributed.checks import check_same_command
from polyglance.training.distributed.error_message import is_connection_error
from polyglance.training.distributed.parallel import in_parallel
from polyglance.training.distributed.share import split_rows


@dataclass
class Others(World):
    """A world whose rank 1 differs from rank 0 in some points."""

    size: int = 2
    differs: Any = None

    def gather_objects(self, value: Any) -> list[Any]:
        return [value, value | (self.differs or {})]


def check(world: World, *changes: tuple[str, Any]) -> None:
    check_same_command(world, load_recipe("vsepp", [dict(changes)]), "ab12", False)


def test_processes_that_agree_are_fine() -> None:
    check(Others())
    check(World(), ("training.batch_size", 33))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("recipe field training.lr", 0.5, "training.lr: 0.0002 on rank 0, 0.5 on rank 1"),
        ("data (a digest)", "cd34", "data (a digest): ab12 on rank 0, cd34 on rank 1"),
        ("version of torch", "1.0", "version of torch: .* on rank 0, 1.0 on rank 1"),
        ("--resume", True, "--resume: False on rank 0, True on rank 1"),
    ],
)
def test_the_difference_is_named(name: str, value: Any, message: str) -> None:
    message = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(PolyglanceError, match=f"{message}; start all with the same command"):
        check(Others(differs={name: value}))


def test_a_batch_that_cannot_be_shared_is_refused() -> None:
    with pytest.raises(PolyglanceError, match=r"33 does not divide by 2 .* 32 or 34, or start"):
        check(Others(), ("training.batch_size", 33))
    with pytest.raises(PolyglanceError, match="2 does not divide by 4 processes; set it to 4, or"):
        check(Others(size=4), ("training.batch_size", 2))


def test_a_step_that_cannot_be_split_is_refused() -> None:
    class Whole:
        splits = False

        def __init__(self, world: World) -> None:
            self.world = world
            self.modules: dict[str, nn.Module] = {}

        def outcome(self, update: int, prepared: Any) -> Any:
            return None

    with pytest.raises(PolyglanceError, match="losses of Whole cannot be split"):
        in_parallel(Whole(Others()), None, None, 0)  # type: ignore[arg-type]
    alone = Whole(World())
    assert in_parallel(alone, None, None, 0) == alone.outcome  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "size"), [(7, 3), (8, 2), (3, 3), (9, 4)])
def test_shares_are_a_partition(count: int, size: int) -> None:
    shares = [split_rows(count, rank, size) for rank in range(size)]
    rows = [row for share in shares for row in range(count)[share.rows]]
    assert rows == list(range(count))
    assert max(shares[0].sizes) - min(shares[0].sizes) <= 1
    assert shares[0].all() == shares


def test_fewer_rows_than_processes_are_everybodys() -> None:
    assert split_rows(2, 2, 3) == Share(2)
    assert range(2)[Share(2).rows] == range(2)


def test_connection_errors_are_distinguished_from_others() -> None:
    assert is_connection_error(
        RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer")
    )
    assert not is_connection_error(
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")
    )
