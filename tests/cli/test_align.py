"""`polyglance align` on planted languages."""

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.alignment import Alignment
from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.text.vectors.read import read_vectors
from polyglance.text.vectors.word_vectors import normalise_rows, save_vectors
from tests.alignment.planted import languages


def run(*arguments):
    result = CliRunner().invoke(app, ["align", *map(str, arguments)])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.stdout


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two languages of 300 words and their dictionary, in the current folder."""
    monkeypatch.chdir(tmp_path)
    source, target, turn = languages(noise=0.05)
    save_vectors(tmp_path / "a.vec", source.words, source.matrix)
    save_vectors(tmp_path / "b.vec", target.words, target.matrix)
    (tmp_path / "d.txt").write_text("".join(f"a{i} b{i}\n" for i in range(300)) + "a1 nothing\n")
    return turn


BASE = ("a.vec", "b.vec", "--dictionary", "d.txt", "--out", "m.safetensors")


def table(text):
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: [float(x) for x in row[1:]] for row in rows if len(row) == 7 and "." in row[1]}


@pytest.mark.parametrize("method", ["svd", "rcsls"])
def test_both_methods(files, tmp_path, method):
    rate = ("--rate", 1) if method == "rcsls" else ()
    text = run(*BASE, "--method", method, *rate, "--evaluate", "--mapped", "ab.vec")
    assert "a.vec: 300 words, dimension 20" in text
    assert "dictionary: 301 pairs; 240 pairs of 240 words to learn from, 60 pairs of 60" in text
    found = table(text)
    assert found["before"][0] < 10
    assert found[method][0] > 90
    assert found[method][3] > 90
    assert ("iteration  10" in text) == (method == "rcsls")
    alignment = Alignment.load(tmp_path / "m.safetensors")
    assert alignment.facts["pairs"] == 240
    assert alignment.facts["precision"][method]["nn"]["1"] == pytest.approx(found[method][0] / 100)
    if method == "svd":
        np.testing.assert_allclose(alignment.matrix, files, atol=0.1)
    mapped = read_vectors(tmp_path / "ab.vec")
    expected = alignment.apply(read_vectors(tmp_path / "a.vec").matrix)
    np.testing.assert_allclose(mapped.matrix, expected, atol=1e-5)


def test_centred_vectors_keep_their_means(files, tmp_path):
    run(*BASE, "--method", "svd", "--centre")
    alignment = Alignment.load(tmp_path / "m.safetensors")
    raw = read_vectors(tmp_path / "a.vec").matrix
    unit = normalise_rows(raw)
    prepared = normalise_rows(unit - unit.mean(axis=0))
    np.testing.assert_allclose(alignment.source(raw), prepared, atol=1e-5)
    np.testing.assert_allclose(
        alignment.apply(raw, unit=False), prepared @ alignment.matrix.T, atol=1e-5
    )
    assert alignment.target_mean is not None


def test_lexicon_and_identical(files, tmp_path):
    both = {"pt-BR": "a", "de": "b"}
    lines = [f"{i}-n\t{tag}\t{letter}{i}\n" for i in range(300) for tag, letter in both.items()]
    (tmp_path / "l.tsv").write_text("".join(lines))
    text = run(*BASE[:2], "--dictionary", "lexicon:pt-BR-de", "--lexicon", "l.tsv", *BASE[4:])
    assert "dictionary: 300 pairs; 300 pairs" in text
    text = run("a.vec", "a.vec", "--dictionary", "identical", "--method", "svd", *BASE[4:])
    np.testing.assert_allclose(
        Alignment.load(tmp_path / "m.safetensors").matrix, np.eye(20), atol=1e-5
    )


def test_captions(files, toy, tmp_path):
    generator = np.random.default_rng(0)
    for name, words in (("en", "red blue dog cat car tree"), ("de", "rot blau hund katze auto")):
        save_vectors(
            tmp_path / f"{name}.vec",
            words.split(),
            generator.normal(size=(6, 3))[: len(words.split())],
        )
    text = run(
        *("en.vec", "de.vec", "--dictionary", f"captions:{toy}", "--languages", "en-de"),
        *("--method", "svd", "--out", "m.safetensors"),
    )
    assert "5 pairs of 5 words to learn from" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*BASE[:5], "m.pt"], "end in .safetensors"),
        ([*BASE, "--method", "gan"], "expected svd or rcsls"),
        ([*BASE, "--rate", "0"], "--rate"),
        ([*BASE, "--rate", "nan"], "--rate"),
        ([*BASE, "--method", "svd", "--rate", "1"], "--rate needs --method rcsls"),
        ([*BASE, "--method", "svd", "--iterations", "5"], "--iterations needs --method rcsls"),
        ([*BASE, "--method", "svd", "--spectral"], "--spectral needs --method rcsls"),
        ([*BASE, "--method", "svd", "--k", "5"], "--k needs --method rcsls or --evaluate"),
        ([*BASE, "--test-words", "5"], "--test-words needs --evaluate"),
        ([*BASE[:3], "none.txt", *BASE[4:]], "none.txt: no such file"),
        ([*BASE[:3], "lexicon:fr-de", *BASE[4:]], "--lexicon"),
        ([*BASE[:3], "lexicon:fr", *BASE[4:], "--lexicon", "d.txt"], "two languages"),
        ([*BASE[:3], "captions:generated", *BASE[4:]], "--languages"),
        ([*BASE[:3], "identical", *BASE[4:]], "no word pairs"),
        ([*BASE[:3], "identical", *BASE[4:], "--evaluate"], "too few to hold some out"),
        (["c.vec", *BASE[1:]], "same dimension"),
    ],
)
def test_mistakes(files, tmp_path, arguments, message):
    save_vectors(tmp_path / "c.vec", ["a1", "a2"], np.eye(2))
    with pytest.raises(PolyglanceError, match=message):
        run(*arguments)
    assert not (tmp_path / "m.safetensors").exists()
