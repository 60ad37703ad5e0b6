"""Datasets: images with captions, from files in many layouts."""

from polyglance.data.dataset import (
    CaptionedImage,
    Captions,
    CaptionTable,
    Dataset,
    load_folder,
    save_folder,
)
from polyglance.data.load import load_dataset

__all__ = [
    "CaptionTable",
    "CaptionedImage",
    "Captions",
    "Dataset",
    "load_dataset",
    "load_folder",
    "save_folder",
]
