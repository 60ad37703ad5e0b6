"""Images of emoji with their names in many languages, for things that captions rarely mention."""

from polyglance.data.emoji.dataset import EmojiOptions, write_emoji

__all__ = ["EmojiOptions", "write_emoji"]
