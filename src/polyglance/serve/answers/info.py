"""Details of one image."""

import os

import numpy as np

from polyglance.library.media.exif import FileMetadata
from polyglance.library.record import Record
from polyglance.serve.images.collection import Collection
from polyglance.serve.images.facts import captions_below, read_head
from polyglance.serve.shapes import Caption, ImageInfo


def image_info(collection: Collection, place: int) -> ImageInfo:
    """Details of the image at a place; unknown ones are None or empty."""
    rows = collection.places[place]
    about: Record | FileMetadata
    if collection.library is not None:
        about = _record(collection, place) or FileMetadata(0, 0)
        captions = about.captions
    else:
        about = read_head(collection.path(place))
        listed = captions_below(tuple(collection.roots))
        own = (listed.get(os.path.abspath(collection.gallery.paths[row]), ()) for row in rows)
        captions = (*(caption for some in own for caption in some), *about.captions)
    return ImageInfo(
        id=collection.ids[place],
        paths=[collection.names.names[row] for row in rows],
        width=about.width or None,
        height=about.height or None,
        taken=None if about.taken is None else about.taken.isoformat(),
        latitude=_finite(about.latitude),
        longitude=_finite(about.longitude),
        tags=list(about.tags),
        captions=[Caption(language=one.language, text=one.text) for one in dict.fromkeys(captions)],
        second=getattr(about, "second", None),
    )


def _record(collection: Collection, place: int) -> Record | None:
    """The library's row; of several files with the same content, the first that exists."""
    assert collection.library is not None
    name = collection.ids[place]
    content, at, second = name.partition("@")
    copies = len(collection.places[place])
    ids = [name, *(f"{content}~{copy}{at}{second}" for copy in range(1, copies + 8))]
    return next(iter(collection.library.store.records(ids)), None)


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
