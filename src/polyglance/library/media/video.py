"""Frames of videos, read by PyAV."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyglance.data.images.read import MAX_PIXELS
from polyglance.errors import ImageProblem
from polyglance.library.media.kinds import Frame

EVERY_SECONDS, MOST = 10.0, 60
"""One frame every ten seconds; at most sixty, spread evenly over long videos."""
DEMUXERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,ogg,asf"
"""Excludes playlists and the like, which make FFmpeg open other files."""


def read_video(path: Path, at_least: int) -> Iterator[Frame]:
    """Frames of a video: the closest key frames before equidistant times.

    Args:
        path: of the file.
        at_least: ignored; part of the reader interface.
    """
    import av

    count = 0
    try:
        with path.open("rb") as handle:
            options = {"format_whitelist": DEMUXERS, "protocol_whitelist": "file"}
            with av.open(handle, options=options, timeout=30) as container:
                for frame in _frames(container, path):
                    count += 1
                    yield frame
    except (ImageProblem, GeneratorExit):
        raise
    except Exception as error:  # FFmpeg raises many types
        if not count:
            raise ImageProblem(path, f"unreadable video ({type(error).__name__})") from None


def _frames(container: Any, path: Path) -> Iterator[Frame]:
    if not container.streams.video:
        raise ImageProblem(path, "a video without images")
    stream = container.streams.video[0]
    stream.codec_context.skip_frame = "NONKEY"
    if stream.codec_context.width * stream.codec_context.height > MAX_PIXELS:
        raise ImageProblem(path, "too large (a video with more than 100 million pixels per frame)")
    seconds = (container.duration or 0) / 1e6
    step = max(EVERY_SECONDS, seconds / MOST)
    last = None
    for number in range(MOST):
        moment = number * step
        if number:
            if moment >= seconds:
                return
            container.seek(int(moment * 1e6), backward=True)
        frame = next(container.decode(stream), None)
        if frame is None:
            return
        second = round(float(frame.time or 0.0), 2)
        if last is None or second > last:
            last = second
            yield Frame(frame.to_image(), frame.width, frame.height, second)
