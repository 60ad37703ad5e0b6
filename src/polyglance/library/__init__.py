"""Libraries: images on disk, kept up to date and searched by sentences or images.

    from polyglance.library import Library, sync

    library = Library.create("pictures.library", "exported/mine")
    library.change(folders=["/home/me/Pictures"])
    sync(library)
    library.search("two dogs in the snow")[0].record.path

Nothing here imports torch: images and texts are encoded by an exported model (`runtime`).
"""

from polyglance.library.filters import Filter
from polyglance.library.library import Library, Match
from polyglance.library.record import Caption, Record
from polyglance.library.stores.protocol import Store
from polyglance.library.syncing.sync import SyncReport, sync

__all__ = ["Caption", "Filter", "Library", "Match", "Record", "Store", "SyncReport", "sync"]
