"""Pictures and captions come in."""

from polyglance.data.dataset import Captions, CaptionTable, Dataset, Photo, load_folder, save_folder
from polyglance.data.load import load_dataset

__all__ = [
    "CaptionTable",
    "Captions",
    "Dataset",
    "Photo",
    "load_dataset",
    "load_folder",
    "save_folder",
]
