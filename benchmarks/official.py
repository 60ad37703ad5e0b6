"""Updates as in the authors' code, reimplemented from its description (spec §2–4).

A shuffled DataLoader whose collate function sorts captions by length and pads them; torch's own
GRU, packed, or over the padding as in LIWE; every occurrence of a word embedded; GPO for each
sample separately, sorting along the padded axis; torch's default optimizer, and `clip_grad_norm_`.
Captions are already ids: the authors tokenise a caption whenever it is drawn.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset

from polyglance.pooling.generators import position_code

MARGIN, CLIP, MASK = 0.2, 2.0, -10000.0
WORD_LENGTH, CHAR_DIM = 26, 24


class Pairs(Dataset):
    """Captions with the features of their images, or with other captions."""

    def __init__(self, captions: list[list[Any]], others: list[Any]) -> None:
        self.captions, self.others = captions, others

    def __len__(self) -> int:
        return len(self.captions)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.captions[index], self.others[index]


def endless(loader: DataLoader) -> Iterator[Any]:
    """Batches, epoch after epoch."""
    while True:
        yield from loader


def padded(captions: list[Any]) -> tuple[Tensor, list[int]]:
    """Ids [B, T, …] and lengths."""
    lengths = [len(caption) for caption in captions]
    ids = torch.zeros(len(captions), max(lengths), *np.shape(captions[0])[1:], dtype=torch.long)
    for row, caption in zip(ids, captions, strict=True):
        row[: len(caption)] = torch.as_tensor(caption)
    return ids, lengths


def collate(data: list[tuple[Any, Any]]) -> tuple[Any, Tensor, list[int]]:
    """Others, ids and lengths of a batch, the longest caption first."""
    data.sort(key=lambda pair: len(pair[0]), reverse=True)
    captions, others = zip(*data, strict=True)
    return others, *padded(list(captions))


def l2norm(vectors: Tensor) -> Tensor:
    """Rows normalised to length one."""
    return vectors / (vectors.pow(2).sum(dim=-1, keepdim=True).sqrt() + 1e-8)


def hinges(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Hinge costs of captions and of images, as in VSE++'s ContrastiveLoss."""
    diagonal = scores.diag().view(-1, 1)
    mask = torch.eye(scores.size(0)) > 0.5
    captions = (MARGIN + scores - diagonal.expand_as(scores)).clamp(min=0)
    images = (MARGIN + scores - diagonal.t().expand_as(scores)).clamp(min=0)
    return captions.masked_fill(mask, 0), images.masked_fill(mask, 0)


def hardest(scores: Tensor) -> Tensor:
    """Max of hinges."""
    captions, images = hinges(scores)
    return captions.max(1)[0].sum() + images.max(0)[0].sum()


def mixed(scores: Tensor, weight: float = 0.5) -> Tensor:
    """LIWE's loss at the update where all and the hardest negatives have equal weight."""
    captions, images = hinges(scores)
    every = captions.sum() + images.sum()
    return (1 - weight) * every + weight * (captions.max(1)[0].sum() + images.max(0)[0].sum())


def contrastive(scores: Tensor) -> Tensor:
    """The symmetric cross-entropy of CLIP, at the temperature of `nce`."""
    labels = torch.arange(len(scores))
    scores = scores / 0.06
    both = (
        nn.functional.cross_entropy(scores, labels),
        nn.functional.cross_entropy(scores.t(), labels),
    )
    return (both[0] + both[1]) / 2


class Vsepp(nn.Module):
    """VSE++ and Kádár et al.: a linear layer, and the last state of a packed GRU."""

    def __init__(self, words: int, dim: int, hidden: int) -> None:
        super().__init__()
        self.fc = nn.Linear(dim, hidden)
        self.embed = nn.Embedding(words, 300)
        self.rnn = nn.GRU(300, hidden, batch_first=True)

    def images(self, features: Tensor) -> Tensor:
        return l2norm(self.fc(features))

    def texts(self, ids: Tensor, lengths: list[int]) -> Tensor:
        packed = pack_padded_sequence(self.embed(ids), lengths, True, enforce_sorted=False)
        states = pad_packed_sequence(self.rnn(packed)[0], True)[0]
        last = torch.tensor(lengths).view(-1, 1, 1).expand(len(ids), 1, states.size(2)) - 1
        return l2norm(torch.gather(states, 1, last).squeeze(1))


class OfficialGPO(nn.Module):
    """GPO: the generator runs for every sample of the batch, sorting along the padded axis."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(32, 1, bias=False)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        width = int(lengths.max())
        vectors = vectors[:, :width]
        mask = torch.arange(width).expand(len(vectors), width) < lengths.unsqueeze(1)
        codes = position_code(width).float().unsqueeze(0).repeat(len(vectors), 1, 1)
        codes = codes.masked_fill(~mask.unsqueeze(2), 0)
        packed = pack_padded_sequence(codes, lengths, True, enforce_sorted=False)
        states = pad_packed_sequence(self.gru(packed)[0], True)[0]
        scores = self.linear((states[..., :32] + states[..., 32:]) / 2).squeeze(2)
        weights = torch.softmax(scores.masked_fill(~mask, MASK) / 0.1, 1)
        hidden = vectors.masked_fill(~mask.unsqueeze(2), MASK)
        ranked = hidden.sort(dim=1, descending=True)[0].masked_fill(~mask.unsqueeze(2), 0)
        return (ranked * weights.unsqueeze(2)).sum(1)


class VseInfinity(nn.Module):
    """VSE∞ over grid cells: a linear layer, a packed BiGRU, GPO on both sides."""

    def __init__(self, words: int, dim: int, hidden: int) -> None:
        super().__init__()
        self.fc = nn.Linear(dim, hidden)
        self.embed = nn.Embedding(words, 300)
        self.rnn = nn.GRU(300, hidden, batch_first=True, bidirectional=True)
        self.image_gpo, self.text_gpo = OfficialGPO(), OfficialGPO()

    def images(self, sets: tuple[Tensor, Tensor]) -> Tensor:
        return l2norm(self.image_gpo(self.fc(sets[0]), sets[1]))

    def texts(self, ids: Tensor, lengths: list[int]) -> Tensor:
        packed = pack_padded_sequence(self.embed(ids), lengths, True, enforce_sorted=False)
        states, sizes = pad_packed_sequence(self.rnn(packed)[0], True)
        half = states.size(2) // 2
        return l2norm(self.text_gpo((states[..., :half] + states[..., half:]) / 2, sizes))


class Nce(nn.Module):
    """Our own `nce` as one would write it with torch: a packed BiGRU, max pooling, projections."""

    def __init__(self, words: int, dim: int, hidden: int) -> None:
        super().__init__()
        self.fc = nn.Linear(dim, hidden)
        self.embed = nn.Embedding(words, 300)
        self.rnn = nn.GRU(300, hidden, batch_first=True, bidirectional=True)
        self.project = nn.Linear(2 * hidden, hidden)
        self.dropout = nn.Dropout(0.2)

    def images(self, features: Tensor) -> Tensor:
        return l2norm(self.fc(self.dropout(features)))

    def texts(self, ids: Tensor, lengths: list[int]) -> Tensor:
        vectors = self.dropout(self.embed(ids))
        packed = pack_padded_sequence(vectors, lengths, True, enforce_sorted=False)
        states = pad_packed_sequence(self.rnn(packed)[0], True, padding_value=MASK)[0]
        return l2norm(self.project(states.max(1)[0]))


class Liwe(nn.Module):
    """LIWE: 1×1 convolutions over all words, including padding, and an unpacked BiGRU."""

    def __init__(self, alphabet: int, dim: int, hidden: int) -> None:
        super().__init__()
        self.query, self.key = nn.Conv1d(dim, dim // 8, 1), nn.Conv1d(dim, dim // 8, 1)
        self.value = nn.Conv1d(dim, dim, 1)
        self.gamma = nn.Parameter(torch.zeros(1))
        self.fc = nn.Conv1d(dim, hidden, 1)
        self.embed = nn.Embedding(alphabet, CHAR_DIM)
        sizes = [WORD_LENGTH * CHAR_DIM, 384, 448, 300]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [weight_norm(nn.Conv1d(inputs, outputs, 1)), nn.BatchNorm1d(outputs)]
            layers += [nn.LeakyReLU(0.1)]
        self.words = nn.Sequential(*layers)
        self.rnn = nn.GRU(300, hidden, batch_first=True, bidirectional=True)

    def images(self, sets: tuple[Tensor, Tensor]) -> Tensor:
        regions = sets[0].transpose(1, 2)  # [B, F, K]
        energy = torch.bmm(self.query(regions).transpose(1, 2), self.key(regions))
        attended = torch.bmm(self.value(regions), energy.softmax(-1).transpose(1, 2))
        found = nn.functional.leaky_relu(self.fc(self.gamma * attended + regions), 0.1)
        return l2norm(l2norm(found.transpose(1, 2)).mean(1))

    def texts(self, ids: Tensor, lengths: list[int]) -> Tensor:
        batch, words, _ = ids.shape
        characters = self.embed(ids).view(batch, words, -1).transpose(1, 2).contiguous()
        vectors = self.words(characters).transpose(1, 2).contiguous()
        states = self.rnn(vectors)[0]
        states = l2norm(
            (states[..., : states.size(2) // 2] + states[..., states.size(2) // 2 :]) / 2
        )
        return l2norm(states[torch.arange(batch), torch.tensor(lengths) - 1])


def augmented(words: int, varying: bool = True) -> Callable[[list[tuple[Any, Any]]], Any]:
    """VSE∞'s collate function with its size augmentation: cells dropped, words changed."""

    def change(caption: list[int]) -> list[int]:
        kept = []
        for word in caption:
            draw = np.random.rand()
            if draw >= 0.2:
                kept.append(word)
            elif draw < 0.1:
                kept.append(words - 1)
            elif draw < 0.12:
                kept.append(np.random.randint(words))
        return kept or caption[:1]

    def cells(vectors: np.ndarray) -> np.ndarray:
        rate = np.random.rand() if varying else 1.0
        keep = np.random.rand(len(vectors)) > (0.2 * rate if rate > 0.2 else 0.0)
        return vectors[keep] if keep.any() else vectors

    def apply(data: list[tuple[Any, Any]]) -> Any:
        pairs = [(change(caption), cells(vectors)) for caption, vectors in data]
        return collate(pairs)

    return apply


def as_tensors(others: tuple[np.ndarray, ...]) -> Any:
    """Vectors [B, F], or sets [B, K, F] padded with 0 and their lengths [B]."""
    if others[0].ndim == 1:
        return torch.stack([torch.as_tensor(one) for one in others])
    lengths = torch.tensor([len(one) for one in others])
    vectors = torch.zeros(len(others), int(lengths.max()), others[0].shape[1])
    for row, one in zip(vectors, others, strict=True):
        row[: len(one)] = torch.as_tensor(one)
    return vectors, lengths


class Updates:
    """Whole updates of one of the models above; `update()` makes the next."""

    def __init__(
        self,
        model: Any,
        data: Pairs,
        loss: Callable[[Tensor], Tensor] = hardest,
        decay: float | None = None,
        gather: Callable[[list[Any]], Any] = collate,
    ) -> None:
        self.model, self.loss = model, loss
        self.batches = endless(DataLoader(data, 128, shuffle=True, collate_fn=gather))
        weights = model.parameters()
        if decay is None:
            self.optimizer: torch.optim.Optimizer = torch.optim.Adam(weights, 2e-4)
        else:
            self.optimizer = torch.optim.AdamW(weights, 5e-4, weight_decay=decay)

    def update(self) -> None:
        """Batch, forward, loss, backward, clipping, optimizer."""
        others, ids, lengths = next(self.batches)
        texts = self.model.texts(ids, lengths)
        if isinstance(others[0], list):
            beside = self.model.texts(*padded(list(others)))
        else:
            beside = self.model.images(as_tensors(others))
        loss = self.loss(beside @ texts.t())
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        loss.item()
