"""Translation models of a few thousand random numbers, as folders that transformers reads."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["a", "dog", "cat", "ein", "hund", "katze", "runs", "translate", "english", "to"]
SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
HEADS = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
WIDE = {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 512}
SPECIAL = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def save_tokenizer(folder, marks=()):
    names = ["<pad>", "</s>", "<unk>", *marks, *WORDS]
    tool = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, "<unk>"))
    tool.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tool.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tool, **SPECIAL, additional_special_tokens=list(marks)
    )
    fast.save_pretrained(folder)
    return len(names)


def save_marian(folder, marks=()):
    """One pair of languages, or many that `>>deu<<` names."""
    size = save_tokenizer(folder, marks)
    torch.manual_seed(0)
    config = transformers.MarianConfig(
        vocab_size=size,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=1,
        num_beams=1,
        **SIZES,
        **HEADS,
        **WIDE,
    )
    transformers.MarianMTModel(config).save_pretrained(folder)
    return folder


def save_m2m(folder, marks=("__en__", "__de__")):
    """Many languages, each with a token that a translation starts with."""
    size = save_tokenizer(folder, marks)
    torch.manual_seed(0)
    config = transformers.M2M100Config(
        vocab_size=size,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
        decoder_start_token_id=1,
        num_beams=1,
        **SIZES,
        **HEADS,
        **WIDE,
    )
    transformers.M2M100ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def save_t5(folder):
    """Asked in words."""
    size = save_tokenizer(folder)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=size,
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder
