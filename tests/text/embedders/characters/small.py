"""Small networks over characters."""

import torch
from torch import Tensor, nn

from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.embedders.characters.forms import character_ids
from polyglance.text.embedders.characters.networks import CharacterNetwork, CharGRU, Liwe

ALPHABET = Alphabet("abcdefghijklmnopé狗")
LENGTH = 9


def make(kind: str, pad_statistics: bool = False, seed: int = 0) -> CharacterNetwork:
    """A small network in training mode, with batch norms that are not trivial."""
    torch.manual_seed(seed)
    size = len(ALPHABET)
    if kind == "chargru":
        return CharGRU(size, 7, 4, LENGTH, pad_statistics)
    model = Liwe(size, (6, 5), 7, 4, LENGTH, pad_statistics)
    for norm in (layer.norm for layer in model.layers):
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias)
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    return model


def spell(words: list[str], length: int = LENGTH) -> Tensor:
    return torch.from_numpy(character_ids(words, ALPHABET, length))
