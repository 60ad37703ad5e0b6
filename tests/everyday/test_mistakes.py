"""What users get wrong is named, with a remedy."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polyglance.core.progress import _Rate
from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.data.hold_out import hold_out
from polyglance.errors import PolyglanceError
from polyglance.gallery.gallery import none_readable
from polyglance.gallery.open import check_place
from polyglance.gallery.query import check_queries
from polyglance.runtime import load, shipped
from tests.text.subword_models import sentence_model


def test_texts_that_are_none() -> None:
    with pytest.raises(PolyglanceError, match="text 1 is None, of type NoneType; pass strings"):
        sentence_model().encode_text(["a", None])
    for encode in (sentence_model().encode_text, load(shipped()).encode_text):
        with pytest.raises(PolyglanceError, match="texts are None, of type NoneType; pass a str"):
            encode(None)
    with pytest.raises(PolyglanceError, match="texts are 3, of type int; pass a string or a list"):
        sentence_model().unknown_words(3)


def test_embeddings_of_other_dimensions() -> None:
    with pytest.raises(PolyglanceError, match=r"shapes \(2, 24\) and \(1, 8\) cannot be compared"):
        sentence_model().similarity(np.zeros((2, 24)), np.zeros(8))


def test_a_missing_image_as_a_query() -> None:
    with pytest.raises(PolyglanceError, match=r"dog\.jpg: no such file; .*write 'dog'"):
        check_queries(sentence_model(), "dog.jpg")


def test_all_unreadable_images_are_named(tmp_path) -> None:
    found = [(tmp_path / f"{n}.jpg", "empty file") for n in range(12)]
    message = str(none_readable(found))
    assert "9.jpg, empty file; and 2 more" in message


def test_a_missing_folder(tmp_path) -> None:
    with pytest.raises(PolyglanceError, match="gone: no such folder; pass a folder of images"):
        check_place(tmp_path / "gone")


def test_a_rate_begins_after_a_second() -> None:
    task: Any = SimpleNamespace(
        finished=False, finished_speed=None, speed=5.0, elapsed=0.1, fields={"unit": "img"}
    )
    assert str(_Rate().render(task)) == ""
    task.elapsed = 2.0
    assert str(_Rate().render(task)) == "5.0 img/s"


def test_one_image_is_too_few_to_hold_out() -> None:
    dataset = Dataset([CaptionedImage("a.jpg", "train", {})], Path(), "d")
    with pytest.raises(PolyglanceError, match="1 training image is too few"):
        hold_out(dataset)
