"""Images in terminals: the protocols of kitty, iTerm2 and sixel, and half blocks elsewhere."""

from polyglance.gallery.graphics.strip import thumbnails
from polyglance.gallery.graphics.terminal import named_protocol, protocol

__all__ = ["named_protocol", "protocol", "thumbnails"]
