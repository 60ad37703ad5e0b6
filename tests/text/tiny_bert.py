"""A random BERT of two layers with a WordPiece tokeniser, as a user would have on disk."""

import shutil
from pathlib import Path

import torch

from tests.conftest import WORDS

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def vocabulary() -> list[str]:
    toy = [word for groups in WORDS.values() for group in groups for word in group]
    return [*SPECIAL, "a", "that", *toy, "run", "##ning", "##s", "犬", "が", "走", "る"]


def write_tokenizer(folder: Path, mask: bool = True) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = {word: index for index, word in enumerate(vocabulary())}
    tool = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    tool.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tool.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", words["[CLS]"]), ("[SEP]", words["[SEP]"])]
    tool.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    names = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]"}
    names |= {"mask": "[MASK]"} if mask else {}
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tool, **{f"{name}_token": token for name, token in names.items()}
    )
    fast.save_pretrained(folder)


def write_bert(folder: Path, mask: bool = True, places: int = 32) -> Path:
    """A folder that `text.pretrained` can name."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary()),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=places,
    )
    BertModel(config).save_pretrained(folder)
    write_tokenizer(folder, mask)
    return folder


def without_weights(source: Path, folder: Path) -> Path:
    """A copy of an encoder's folder that lacks its weights."""
    shutil.copytree(source, folder)
    (folder / "model.safetensors").unlink()
    return folder
