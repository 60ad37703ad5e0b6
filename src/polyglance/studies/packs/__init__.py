"""Finished runs in one file, without their weights: written here, taken in on another machine."""

from polyglance.studies.packs.take import Taken, take_runs
from polyglance.studies.packs.write import PackKeeper, write_pack

__all__ = ["PackKeeper", "Taken", "take_runs", "write_pack"]
