"""Word vectors trained on one's own sentences."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.read import read_vectors
from polyglance.text.vectors.skipgram import VectorSettings, train_vectors
from polyglance.text.vectors.word_vectors import normalise_rows

pytest.importorskip("floret", reason="it has no wheel for Python 3.13 yet")
SMALL = VectorSettings(dim=16, epochs=20)


def sentences(count: int = 3000) -> list[list[str]]:
    """Dogs and cats run and sleep in the park; cars and buses drive on the street."""
    generator = np.random.default_rng(0)
    worlds = [["dog", "cat", "runs", "sleeps", "park"], ["car", "bus", "drives", "stops", "street"]]
    return [generator.choice(worlds[i % 2], 5).tolist() for i in range(count)]


def test_words_of_one_topic_are_near() -> None:
    vectors = train_vectors(sentences(), SMALL)
    dog, cat, bus = normalise_rows(vectors.vectors(["dog", "cat", "bus"]))
    assert dog @ cat > dog @ bus + 0.2


def test_the_same_seed_gives_the_same_vectors_and_another_does_not() -> None:
    words = ["dog", "unseen"]
    first, again = (train_vectors(sentences(), SMALL).vectors(words) for _ in range(2))
    other = train_vectors(sentences(), VectorSettings(16, 20, seed=1)).vectors(words)
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_saved_vectors_are_those_of_memory_also_for_words_never_seen(tmp_path: Path) -> None:
    vectors = train_vectors([[*words, "übergröße", "狗"] for words in sentences()], SMALL)
    vectors.save(tmp_path / "xx.bin")
    words = ["dog", "dogs", "übergröße", "über", "狗", "天狗"]
    opened = SubwordVectors.open(tmp_path / "xx.bin")
    assert opened.words == vectors.words
    np.testing.assert_array_equal(opened.vectors(words), vectors.vectors(words))


def test_the_file_is_one_that_another_reader_of_the_format_takes(tmp_path: Path) -> None:
    wanted = train_vectors(sentences(), SMALL)
    wanted.save(tmp_path / "xx.bin")
    size = 8 + 48 + 8 + 28 + sum(len(word.encode()) + 10 for word in wanted.words)
    size += 2 * 17 + 4 * 16 * (len(wanted.words) * 2 + wanted.buckets)
    assert (tmp_path / "xx.bin").stat().st_size == size


def test_unspaced_scripts_have_short_ngrams() -> None:
    assert train_vectors([["狗", "跑步"]] * 20, SMALL).shortest == 1
    assert train_vectors([["dog", "runs"]] * 20, SMALL).shortest == 3


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(PolyglanceError, match="no words"):
        train_vectors([[], []])


def test_the_command_reads_captions_and_text(tmp_path: Path) -> None:
    (tmp_path / "nl.txt").write_text("een hond rent\neen kat slaapt\n" * 20)
    (tmp_path / "lexicon.tsv").write_text("1-n\tnl\thond|blafbeest\n1-n\tde\tHund\n")
    arguments = ["vectors", "generated:photos=12", "--languages", "en,zh", "--dim", "8"]
    arguments += ["--text", f"nl={tmp_path / 'nl.txt'}", "--lexicon", str(tmp_path / "lexicon.tsv")]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path), "--format", "vec"])
    assert result.exit_code == 0, result.output
    assert {path.name for path in tmp_path.glob("*.vec")} == {"en.vec", "zh.vec", "nl.vec"}
    dutch = read_vectors(tmp_path / "nl.vec")
    assert {"hond", "kat", "blafbeest"} <= set(dutch.words)
    assert dutch.dim == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to train on"),
        (["--text", "nl"], "expected CODE=FILE"),
        (["generated:photos=12", "--format", "txt"], "expected bin or vec"),
    ],
)
def test_invalid_input_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["vectors", *arguments, "--out", str(tmp_path)])
    assert message in str(result.exception)
