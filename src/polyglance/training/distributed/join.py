"""Joining the other processes that torchrun has started."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache

import torch
from torch import distributed

from polyglance.errors import PolyglanceError
from polyglance.numerics.torchrun import launched, local_rank
from polyglance.training.distributed.team import ALONE, Team

LONG = timedelta(days=7)
"""Others wait so long for a rank that extracts features or trains word vectors; one that dies is
noticed at once."""
_JOINED = [ALONE]
_POLL_SECONDS = 0.05


@cache
def meeting_point() -> distributed.Store:
    """Where torchrun lets its processes find each other, anew after each restart."""
    store = next(distributed.rendezvous("env://"))[0]
    return distributed.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)


@contextmanager
def joined(device: torch.device | None = None) -> Iterator[Team]:
    """The processes that torchrun has started, or this one alone; within it the same again.

    Args:
        device: that this process computes on; None is the CPU.
    """
    if not launched() or not _JOINED[-1].alone:
        yield _JOINED[-1]
        return
    team = _join(device)
    _JOINED.append(team)
    try:
        yield team
        distributed.destroy_process_group()  # waits for others, who may be gone after an error
    finally:
        _JOINED.pop()


def _join(device: torch.device | None) -> Team:
    if not distributed.is_available() or not distributed.is_gloo_available():
        raise PolyglanceError(
            "this build of torch cannot train in several processes; start polyglance without "
            "torchrun, or install another build"
        )
    cuda = device is not None and device.type == "cuda"
    if cuda:
        torch.cuda.set_device(device)
    _wait_for_all()
    distributed.init_process_group(
        "cpu:gloo,cuda:nccl" if cuda else "gloo",
        store=meeting_point(),
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    return Team(
        distributed.get_rank(),
        distributed.get_world_size(),
        local_rank(),
        distributed.new_group(backend="gloo", timeout=LONG),
        distributed.new_group(),
    )


def _wait_for_all() -> None:
    """Until all processes have read their data; unlike torch's own waiting, it can be ended."""
    store = distributed.PrefixStore("arrived", meeting_point())
    store.add("all", 1)
    while store.add("all", 0) < int(os.environ["WORLD_SIZE"]):
        time.sleep(_POLL_SECONDS)
