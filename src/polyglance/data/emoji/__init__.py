"""Pictures of emoji with their names in many languages: things that captions seldom name."""

from polyglance.data.emoji.dataset import EmojiOptions, write_emoji

__all__ = ["EmojiOptions", "write_emoji"]
