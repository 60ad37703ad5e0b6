"""The index of a folder: embeddings of its images, kept between searches."""

from polyglance.gallery.index.store import Entry, Index, open_index
from polyglance.gallery.index.update import indexed_files, indexed_folder

__all__ = ["Entry", "Index", "indexed_files", "indexed_folder", "open_index"]
