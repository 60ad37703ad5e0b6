"""A language for a model of subwords: its hashed subwords are trained on pairs of texts.

Such a model reads every language, but what it knows of one without training texts is little. The
table of hashed subwords learns to embed a text in the language where its English translation is;
everything else is frozen. Texts in other languages share rows of the table, so some of them are
kept at their former embeddings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.core.languages import is_tag
from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.numerics.devices import CPU, Device, choose_device, move
from polyglance.runtime.folders import model_folder
from polyglance.text.embedders import TextBatch
from polyglance.text.encoders import SentenceTower
from polyglance.text.lexicon import Lexicon, lexicon_path
from polyglance.training.folder import is_empty_run, lock_run
from polyglance.transfer.source import load_source
from polyglance.transfer.tune import source_recipe, tuned_model, tuning_recipe

Pairs = Sequence[tuple[str, str]]
"""(text in the pivot language, text in the new one)"""
FEWEST, HELD_OUT, MOST_HELD_OUT = 20, 0.1, 1000
BATCH, TEMPERATURE, KEEP = 256, 0.05, 20.0
KEPT_TEXTS = 4000
"""Most texts of other languages whose embeddings are kept."""
PATIENCE = 3
"""Epochs without improvement after which training ends."""
WORDS = 2
"""Most words per language and synset; lexicons list the usual ones first."""


@dataclass(frozen=True)
class SubwordExtension:
    """What the training brought.

    Args:
        model: the new model.
        pairs: number of pairs trained on.
        held_out: number of pairs held out.
        before: percentage of held-out texts whose translation is the closest one, before.
        after: the same after training.
        kept: mean cosine similarity of texts in other languages with their former embeddings.
    """

    model: Model
    pairs: int
    held_out: int
    before: float
    after: float
    kept: float


def reads_all_languages(source: str | Path) -> bool:
    """Whether the model in a folder is one of subwords, which has no words to add."""
    return str(source_recipe(model_folder(source)).text.embedder.kind) == "subwords"


def teach_language(
    source: str | Path,
    language: str,
    out: str | Path,
    lexicon: str | Path | None = None,
    data: Dataset | None = None,
    pivot: str = "en",
    epochs: int = 20,
    lr: float = 1e-3,
    device: Device = CPU,
) -> SubwordExtension:
    """Train a model of subwords on pairs of texts in a language, into the run folder `out`.

    Args:
        source: folder of a sentence encoder with hashed subwords, or base.
        language: tag of the language.
        out: output folder; must be new or empty.
        lexicon: a lexicon, whose words are pairs; by default $POLYGLANCE_LEXICON if there is no
            `data`.
        data: captions in both languages; those of an image's training captions are pairs.
        pivot: the language that the model knows.
        epochs: largest number of epochs.
        lr: learning rate.
        device: auto, cpu, cuda, cuda:N or mps.
    """
    target = Path(out)
    if not is_tag(language):
        raise PolyglanceError(f"'{language}' is not a language tag; write one such as nl")
    if not is_empty_run(target):
        raise PolyglanceError(f"{target}: already exists and is not empty; choose another --out")
    folder = model_folder(source)
    pairs, others = [], []
    if data is not None:
        pairs, others = _of_captions(data, pivot, language)
    if lexicon is not None or data is None:
        words = Lexicon.open(lexicon_path(lexicon, "add-language", "--lexicon"))
        more, other_words = _of_lexicon(words, pivot, language)
        pairs, others = [*pairs, *more], [*others, *other_words]
    old = load_source(folder)
    model = tuned_model(tuning_recipe(source), old, [language], folder)
    model.drawings = old.drawings
    model.to(choose_device(device))
    with lock_run(target):
        found = _teach(model, pairs, others, epochs, lr)
        facts = {"data": f"text pairs {pivot}-{language}", "captions": found.pairs}
        model.to(CPU).save(target, **facts, parameters=model.parameters())
    return found


def _of_lexicon(lexicon: Lexicon, pivot: str, language: str) -> tuple[Pairs, list[str]]:
    """Words that share a synset, and words of the other languages."""
    for code in (pivot, language):
        lexicon.require(code)
    known, found = lexicon.lemmas(pivot), lexicon.lemmas(language)
    pairs = [
        (known[synset][0], word)
        for synset, own in found.items()
        if known.get(synset)
        for word in own[:WORDS]
    ]
    rest = [code for code in lexicon.languages if code not in (pivot, language)]
    share = max(1, KEPT_TEXTS // max(len(rest), 1))
    others = []
    for code in rest:
        words = [own[0] for own in lexicon.lemmas(code).values() if own]
        others += words[:: max(1, len(words) // share)][:share]
    return pairs, others


def _of_captions(data: Dataset, pivot: str, language: str) -> tuple[Pairs, list[str]]:
    """Captions of the same images, in order, and captions in the other languages."""
    pairs, others = [], []
    for one in data.split("train").images:
        texts = {
            code: [text for own in kinds.values() for text in own]
            for code, kinds in one.captions.items()
        }
        pairs += zip(texts.get(pivot, []), texts.get(language, []), strict=False)
        others += [t for code, own in texts.items() if code not in (pivot, language) for t in own]
    return pairs, others


def _teach(
    model: Model, pairs: Pairs, others: Sequence[str], epochs: int, lr: float
) -> SubwordExtension:
    tower = model.network.text
    if not isinstance(tower, SentenceTower) or tower.words is None:
        raise PolyglanceError(
            f"'{model.recipe.name}' is not a sentence encoder with hashed subwords; fine-tune it "
            "on captions in the language: polyglance train --from MODEL --data DATA"
        )
    model.network.eval().requires_grad_(False)
    teacher = _Teacher(model, tower.words.weight.requires_grad_(True), pairs, others)
    before = teacher.recall()
    after = teacher.train(before, epochs, lr)
    counts = len(teacher.pairs), len(teacher.held_out)
    return SubwordExtension(model, *counts, before, after, teacher.similarity())


class _Teacher:
    """Trains a table on pairs, and evaluates it on held-out ones."""

    def __init__(
        self, model: Model, table: nn.Parameter, pairs: Pairs, others: Sequence[str]
    ) -> None:
        self.model, self.table, self.chance = model, table, np.random.default_rng(0)
        readable = [pair for pair in dict.fromkeys(pairs) if all(map(self._has_word, pair))]
        self.pairs, self.held_out = self._split(readable)
        if len(self.pairs) < FEWEST:
            raise PolyglanceError(
                f"{len(readable)} pairs of texts are too few to train on; pass a lexicon with the "
                "language, or captions in it and in English"
            )
        known = sorted({text for text, _ in readable})
        self.number = {text: number for number, text in enumerate(known)}
        kept = list(filter(self._has_word, dict.fromkeys([*others, *known])))
        self.kept = [kept[row] for row in self.chance.permutation(len(kept))[:KEPT_TEXTS]]
        self.targets, self.former = self._embed(known), self._embed(self.kept)

    def train(self, best: float, epochs: int, lr: float) -> float:
        """Train until the recall of held-out pairs no longer increases; returns the best recall.

        Args:
            best: recall before.
            epochs: largest number of epochs.
            lr: learning rate.
        """
        optimizer = torch.optim.SparseAdam([self.table], lr=lr)
        state, stale = self.table.detach().clone(), 0
        for _ in range(epochs):
            order = self.chance.permutation(len(self.pairs))
            for rows in np.array_split(order, -(-len(order) // BATCH)):
                loss = self._loss([self.pairs[row] for row in rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            found = self.recall()
            stale = 0 if found > best else stale + 1
            if not stale:
                best, state = found, self.table.detach().clone()
            if stale >= PATIENCE:
                break
        with torch.no_grad():
            self.table.copy_(state)
        return best

    def recall(self) -> float:
        """Percentage of held-out texts whose translation is the closest of the held-out ones."""
        wanted = torch.tensor([self.number[text] for text, _ in self.held_out])
        own = torch.unique(wanted)
        found = self._embed([text for _, text in self.held_out])
        scores = found @ self.targets[own.to(self.targets.device)].T
        return 100 * float((own[scores.argmax(1).cpu()] == wanted).float().mean())

    def similarity(self) -> float:
        """Mean cosine similarity of kept texts with their former embeddings."""
        return float((self._embed(self.kept) * self.former).sum(1).mean())

    def _loss(self, batch: Pairs) -> Tensor:
        drawn = self.chance.integers(0, len(self.kept), min(BATCH, len(self.kept)))
        numbers = torch.tensor([self.number[text] for text, _ in batch])
        made = self._forward([text for _, text in batch] + [self.kept[row] for row in drawn])
        loss = _matching(made[: len(batch)], self.targets[numbers], numbers)
        same = (made[len(batch) :] * self.former[torch.from_numpy(drawn)]).sum(1)
        return loss + KEEP * (1 - same).mean()

    def _forward(self, texts: Sequence[str]) -> Tensor:
        """Embeddings [n, D] of length one, with gradients."""
        tokens = self.model.tokens(texts)
        ids, lengths = (torch.from_numpy(part) for part in tokens.ids.pad(None))
        batch = move(TextBatch(ids, lengths, tokens.unseen), self.model.device)
        return functional.normalize(self.model.network.embed_text(batch), dim=1)

    def _embed(self, texts: Sequence[str]) -> Tensor:
        found = np.asarray(self.model.encode_tokens(self.model.tokens(texts)))
        return functional.normalize(torch.from_numpy(found), dim=1).to(self.model.device)

    def _has_word(self, text: str) -> bool:
        return bool(self.model.embedder.read([text], None)[0][0])

    def _split(self, pairs: Pairs) -> tuple[Pairs, Pairs]:
        """Pairs to train on and held-out ones; all pairs of a pivot text are in one part."""
        names = sorted({text for text, _ in pairs})
        count = min(MOST_HELD_OUT, max(1, round(HELD_OUT * len(names)))) if names else 0
        held = {names[row] for row in self.chance.permutation(len(names))[:count]}
        return [one for one in pairs if one[0] not in held], [
            one for one in pairs if one[0] in held
        ]


def _matching(found: Tensor, targets: Tensor, numbers: Tensor) -> Tensor:
    """InfoNCE against the translations of the batch; equal ones are no negatives."""
    scores = found @ targets.T / TEMPERATURE
    equal = numbers[:, None] == numbers[None, :]
    others = equal & ~torch.eye(len(numbers), dtype=torch.bool)
    scores = scores.masked_fill(others.to(scores.device), -torch.inf)
    return functional.cross_entropy(scores, torch.arange(len(numbers), device=scores.device))
