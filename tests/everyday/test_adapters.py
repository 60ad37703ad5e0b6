"""Models as other packages know them: against the package where it is there, else its protocol."""

import sys

import numpy as np
import pytest
import torch
from PIL import Image

from polyglance.adapters.clip_benchmark import load_polyglance
from polyglance.adapters.common import opened
from polyglance.adapters.langchain import PolyglanceEmbeddings
from polyglance.adapters.llama_index import llama_embedding
from polyglance.adapters.mteb import MTEBEncoder
from polyglance.adapters.sentence_transformers import SentenceEncoder
from polyglance.errors import PolyglanceError
from polyglance.numerics.similarity import normalise
from tests.loops import run_apart

TEXTS = ["red dog", "snow", "hund"]


@pytest.fixture
def expected(model):
    return model.encode_text(TEXTS)


def test_sentence_transformers(model, pictures, expected):
    own = SentenceEncoder(model)
    assert own.get_sentence_embedding_dimension() == 16
    np.testing.assert_allclose(own.encode(TEXTS, batch_size=2), expected, atol=1e-6)
    np.testing.assert_allclose(own.encode("snow"), expected[1], atol=1e-6)
    image = Image.open(pictures / "0.png")
    mixed = own.encode(["snow", image], normalize_embeddings=True)
    wanted = np.stack([expected[1], model.encode_images(image)[0]])
    np.testing.assert_allclose(mixed, normalise(wanted), atol=1e-5)
    tensor = own.encode(TEXTS, convert_to_tensor=True)
    assert torch.is_tensor(tensor)
    assert tensor.shape == (3, 16)
    assert [len(one) for one in own.encode(TEXTS, convert_to_numpy=False)] == [16] * 3
    cosines = normalise(expected) @ normalise(expected).T
    np.testing.assert_allclose(own.similarity(expected, expected), cosines, atol=1e-6)


def test_sentence_transformers_options(model, expected):
    own = SentenceEncoder(model, truncate_dim=6)
    assert own.get_sentence_embedding_dimension() == 6
    np.testing.assert_allclose(own.encode(TEXTS), expected[:, :6], atol=1e-6)
    found = own.encode_query(TEXTS, truncate_dim=4, normalize_embeddings=True, device="cpu")
    np.testing.assert_allclose(found, normalise(expected[:, :4]), atol=1e-6)
    np.testing.assert_allclose(own.encode_document("snow"), expected[1, :6], atol=1e-6)
    small = own.encode(TEXTS, precision="int8", truncate_dim=16, prompt=None)
    assert small.dtype == np.int8
    assert small.min(0).tolist() == [-128] * 16
    steps = (expected.max(0) - expected.min(0)) / 255
    again = (small.astype(np.float32) + 128) * steps + expected.min(0)
    assert np.abs(again - expected).max() <= steps.max() * 1.01
    for options, message in [
        ({"precision": "binary"}, "must be float32 or int8"),
        ({"output_value": "token_embeddings"}, "not supported"),
        ({"prompt": "query: "}, "not supported"),
        ({"truncate_dim": 17}, "must be 1 to 16"),
    ]:
        with pytest.raises(PolyglanceError, match=message):
            own.encode(TEXTS, **options)
    with pytest.raises(PolyglanceError, match="encode many at once"):
        own.encode("snow", precision="int8")


def test_texts_without_words_are_zeros(model):
    found = SentenceEncoder(model).encode(["", "snow", "!?"])
    assert (np.abs(found).sum(1) > 0).tolist() == [False, True, False]


def test_langchain(model, pictures, expected):
    own = PolyglanceEmbeddings(model)
    np.testing.assert_allclose(own.embed_documents(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(own.embed_query("snow"), expected[1], atol=1e-6)
    assert isinstance(own.embed_query("snow")[0], float)
    images = [str(pictures / "0.png"), str(pictures / "2.png")]
    np.testing.assert_allclose(own.embed_image(images), model.encode_images(images), atol=1e-6)
    found = run_apart(own.aembed_documents(TEXTS))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(run_apart(own.aembed_query("snow")), expected[1], atol=1e-6)


def test_langchains_own_store(model):
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    own = PolyglanceEmbeddings(model)
    assert isinstance(own, Embeddings)
    store = InMemoryVectorStore(own)
    store.add_texts(TEXTS)
    assert store.similarity_search("snow", k=1)[0].page_content == "snow"


def test_llama_index(model, pictures, expected):
    pytest.importorskip("llama_index.core")
    own = llama_embedding(model)
    np.testing.assert_allclose(own.get_text_embedding_batch(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(own.get_query_embedding("snow"), expected[1], atol=1e-6)
    image = str(pictures / "0.png")
    np.testing.assert_allclose(
        own.get_image_embedding(image), model.encode_images(image)[0], atol=1e-6
    )


def test_llama_index_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_index.core.embeddings.multi_modal_base", None)
    monkeypatch.setitem(sys.modules, "llama_index", None)
    with pytest.raises(PolyglanceError, match="pip install llama-index-core"):
        llama_embedding(model)


def test_mteb(model, pictures, expected):
    own = MTEBEncoder(model, None, device="cpu")
    batches = [{"text": TEXTS[:2]}, {"text": TEXTS[2:]}]
    found = own.encode(batches, task_metadata=None, hf_split="test", hf_subset="default")
    np.testing.assert_allclose(found, normalise(expected), atol=1e-6)
    images = [Image.open(pictures / name) for name in ("0.png", "2.png")]
    pictured = normalise(model.encode_images(images))
    np.testing.assert_allclose(own.encode([{"image": images}]), pictured, atol=1e-5)
    both = own.encode([{"text": TEXTS[:2], "image": images}])
    np.testing.assert_allclose(both, normalise(normalise(expected[:2]) + pictured), atol=1e-5)
    pairs = own.similarity_pairwise(expected, expected[::-1])
    np.testing.assert_allclose(pairs, np.diag(own.similarity(expected, expected[::-1])), atol=1e-6)
    with pytest.raises(ValueError, match="neither texts nor images, but audio"):
        own.encode([{"audio": [1]}])


def test_mtebs_own_protocol(model):
    protocols = pytest.importorskip("mteb.models.models_protocols")
    assert isinstance(MTEBEncoder(model), protocols.EncoderProtocol)
    assert MTEBEncoder(model).mteb_model_meta.embed_dim == 16


def test_clip_benchmark(model_folder, model, pictures, expected):
    own, transform, tokenizer = load_polyglance(str(model_folder), device="cpu")
    image = Image.open(pictures / "0.png")
    pixels = torch.stack([transform(image), transform(image)])
    np.testing.assert_allclose(
        own.encode_image(pixels).numpy()[1], model.encode_images(image)[0], atol=1e-5
    )
    tokens = tokenizer(TEXTS).to("cpu")
    np.testing.assert_allclose(
        own.eval().to("cpu").encode_text(tokens).numpy(), expected, atol=1e-6
    )


def test_clip_benchmarks_own_retrieval(model_folder, pictures):
    retrieval = pytest.importorskip("clip_benchmark.metrics.zeroshot_retrieval")
    own, transform, tokenizer = load_polyglance(str(model_folder))
    images = [transform(Image.open(pictures / name)) for name in ("0.png", "2.png")]
    loader = [(torch.stack(images), [["red dog", "snow"], ["hund"]])]
    found = retrieval.evaluate(own, loader, tokenizer, "cpu", amp=False, recall_k_list=[2])
    assert found["image_retrieval_recall@2"] == 1


def test_a_run_must_be_exported_for_clip_benchmark(tmp_path):
    from tests.runtime.trained import trained

    trained(tmp_path, "nce")
    with pytest.raises(PolyglanceError, match="export it first"):
        load_polyglance(str(tmp_path / "run"))
    assert opened(tmp_path / "run").dim == 16
