"""Packs: finished runs in one file, without weights, to be imported on another machine."""

from polyglance.studies.packs.importing import ImportResult, import_runs, pack_files
from polyglance.studies.packs.write import PackUpdater, write_pack

__all__ = ["ImportResult", "PackUpdater", "import_runs", "pack_files", "write_pack"]
