"""Joining the other processes that torchrun started."""

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
from polyglance.training.distributed.world import SINGLE, World

TIMEOUT = timedelta(days=7)
"""How long the others wait for a rank that extracts features or trains word vectors; a dead
one is noticed at once."""
_JOINED = [SINGLE]
_POLL_SECONDS = 0.05


@cache
def rendezvous_store() -> distributed.Store:
    """The store where torchrun's processes find each other, new after each restart."""
    store = next(distributed.rendezvous("env://"))[0]
    return distributed.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)


@contextmanager
def joined(device: torch.device | None = None) -> Iterator[World]:
    """The processes that torchrun started, or this one alone; nested calls return the same.

    Args:
        device: of this process; None is the CPU.
    """
    if not launched() or not _JOINED[-1].is_single:
        yield _JOINED[-1]
        return
    world = _join(device)
    _JOINED.append(world)
    try:
        yield world
        distributed.destroy_process_group()  # waits for others, which may be gone after an error
    finally:
        _JOINED.pop()


def _join(device: torch.device | None) -> World:
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
        store=rendezvous_store(),
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    return World(
        distributed.get_rank(),
        distributed.get_world_size(),
        local_rank(),
        distributed.new_group(backend="gloo", timeout=TIMEOUT),
        distributed.new_group(),
    )


def _wait_for_all() -> None:
    """Wait until all processes have read their data; unlike torch's barrier, interruptible."""
    store = distributed.PrefixStore("arrived", rendezvous_store())
    store.add("all", 1)
    while store.add("all", 0) < int(os.environ["WORLD_SIZE"]):
        time.sleep(_POLL_SECONDS)
