"""A language for a sentence encoder: its hashed subwords are trained on pairs of texts.

Such a model reads every language, but knows little of those without training texts. Each text of
the language is drawn to the model's own embedding of its translation. Only rows of hashed subwords
are trained, and none that is read for a word of the model's vocabulary: texts of such words keep
their embeddings exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.alignment.named import from_sentences, parallel
from polyglance.core.languages import is_tag
from polyglance.core.progress import Bar
from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.numerics.devices import CPU, Device, choose_device, move
from polyglance.numerics.ragged import Ragged
from polyglance.runtime.conversion.rows import export_with_rows
from polyglance.runtime.folders import model_folder
from polyglance.runtime.manifest import is_exported
from polyglance.text.dictionaries import read_pairs
from polyglance.text.embedders import SubwordEmbedder, TextBatch
from polyglance.text.encoders import SentenceTower
from polyglance.text.lexicon import Lexicon, lexicon_path
from polyglance.text.tokenizers.base import has_word
from polyglance.training.folder import is_empty_run, lock_run
from polyglance.transfer.source import load_source
from polyglance.transfer.tune import source_recipe, tuned_model, tuning_recipe

FEWEST = 20
"""Least number of pairs."""
NAMES = 2
"""Most words per language and synset; lexicons list the usual ones first."""
BATCH, TEMPERATURE = 512, 0.05
KEEP, KEPT_TEXTS = 20.0, 20_000
"""Weight of the kept texts' former embeddings, and the largest number of such texts."""
EMBEDDED_AT_ONCE = 256


@dataclass(frozen=True)
class TextPairs:
    """Texts of a language with their translations, and texts of other languages.

    Args:
        texts: in the language.
        translations: of each of the texts, in the pivot language.
        weights: of the pairs in training.
        others: texts in other languages, whose embeddings should not change.
        fixed: texts whose embeddings do not change, because their rows are not trained.
    """

    texts: list[str] = field(default_factory=list)
    translations: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)

    def add(self, text: str, translation: str, weight: float = 1.0) -> None:
        """Add a pair.

        Args:
            text: in the new language.
            translation: into a language that the model knows.
            weight: of the pair in the loss.
        """
        self.texts.append(text)
        self.translations.append(translation)
        self.weights.append(weight)


@dataclass(frozen=True)
class TaughtLanguage:
    """What training on pairs of texts brought.

    Args:
        model: the new model.
        pairs: number of pairs.
        before: percentage of pairs whose translation is the closest of 1,000, before.
        after: the same after training.
        known: number of words in the model's vocabulary, all with the same embeddings as before.
        kept: mean cosine similarity of other texts with their former embeddings.
        least: the lowest of these similarities.
    """

    model: Model
    pairs: int
    before: float
    after: float
    known: int
    kept: float
    least: float


def reads_all_languages(source: str | Path) -> bool:
    """Whether the model in a folder is a sentence encoder, which has no words to add."""
    return str(source_recipe(model_folder(source)).text.embedder.kind) == "subwords"


def teach_language(
    source: str | Path,
    language: str,
    out: str | Path,
    transfer: Mapping[str, Any] | None = None,
    data: Dataset | None = None,
    epochs: int = 8,
    lr: float = 3e-3,
    device: Device = CPU,
) -> TaughtLanguage:
    """Train a sentence encoder on pairs of texts in a language and one that it knows.

    The new model is an export if the source is one, and otherwise a run.

    Args:
        source: folder of a sentence encoder with hashed subwords, or base.
        language: tag of the language.
        out: output folder; must be new or empty.
        transfer: `dictionary`, `lexicon` and `pivot`, as in a recipe's transfer section.
        data: captions in both languages; those of the same training image are pairs.
        epochs: number of epochs.
        lr: learning rate.
        device: auto, cpu, cuda, cuda:N or mps.
    """
    _check_output(Path(out), [language])
    pairs = text_pairs(language, transfer or {}, data)
    return teach_pairs(source, pairs, [language], out, epochs, lr, device)


def teach_pairs(
    source: str | Path,
    pairs: TextPairs,
    languages: Sequence[str],
    out: str | Path,
    epochs: int = 8,
    lr: float = 3e-3,
    device: Device = CPU,
) -> TaughtLanguage:
    """Train a sentence encoder on pairs of texts, in one or more languages, and one that it knows.

    Args:
        source: as for `teach_language`.
        pairs: texts and their translations.
        languages: tags of the languages of the texts.
        out: output folder; must be new or empty.
        epochs: number of epochs.
        lr: learning rate.
        device: auto, cpu, cuda, cuda:N or mps.
    """
    target, folder, place = Path(out), model_folder(source), choose_device(device)
    _check_output(target, languages)
    old = load_source(folder)
    model = tuned_model(tuning_recipe(source), old, languages, folder)
    model.drawings = old.drawings
    tower = model.network.text
    if not isinstance(tower, SentenceTower) or tower.words is None:
        raise PolyglanceError(
            f"{folder}: is not a sentence encoder with hashed subwords; fine-tune it on captions "
            "in the language: polyglance train --from MODEL --data DATA"
        )
    model.to(place)
    model.network.eval()
    found, rows = _Teacher(model, tower, pairs).teach(epochs, lr)
    model.to(CPU)
    if is_exported(folder):
        vectors = tower.words.weight.detach().numpy()[rows]
        export_with_rows(folder, target, rows, vectors, languages)
        return found
    with lock_run(target):
        facts = {"data": f"pairs of texts in {', '.join(languages)}", "captions": found.pairs}
        model.save(target, **facts, parameters=model.parameters())
    return found


def _check_output(target: Path, languages: Sequence[str]) -> None:
    for language in languages:
        if not is_tag(language):
            raise PolyglanceError(f"'{language}' is not a language tag; write one such as nl")
    if not is_empty_run(target):
        raise PolyglanceError(f"{target}: already exists and is not empty; choose another --out")


def text_pairs(
    language: str, transfer: Mapping[str, Any], data: Dataset | None = None
) -> TextPairs:
    """The pairs of texts that dictionaries name, and those of a dataset.

    Args:
        language: of the texts.
        transfer: `dictionary` (by default the lexicon, unless there is `data`), `lexicon`, `pivot`.
        data: captions in both languages.
    """
    pivot = transfer.get("pivot") or "en"
    if pivot == language:
        raise PolyglanceError(f"'{language}' is the pivot language; choose another --pivot")
    named = transfer.get("dictionary") or ("lexicon" if data is None else "")
    found = TextPairs()
    if data is not None:
        _add_sentences(found, "captions", language, pivot, data)
    for name in filter(None, named.split("+")):
        if name.partition(":")[0] == "lexicon":
            path = lexicon_path(transfer.get("lexicon"), "add-language")
            _add_words(found, Lexicon.open(path), language, pivot)
        elif from_sentences(name):
            _add_sentences(found, name, language, pivot, data)
        else:
            for text, translation in read_pairs(Path(name).expanduser()):
                found.add(text, translation)
    return found


def _add_words(found: TextPairs, lexicon: Lexicon, language: str, pivot: str) -> None:
    """Words of a lexicon; those of a synset with words in many languages weigh more."""
    for code in (pivot, language):
        lexicon.require(code)
    known, spread = lexicon.lemmas(pivot), lexicon.spread
    for synset, words in lexicon.lemmas(language).items():
        if not known.get(synset):
            continue
        for place, word in enumerate(words[:NAMES], 1):
            found.add(word, known[synset][0], spread[synset] / len(lexicon.languages) / place)
    rest = [code for code in lexicon.languages if code != language]
    share = max(1, KEPT_TEXTS // max(len(rest), 1))
    for code in rest:
        own = lexicon.lemmas(code)
        usual = sorted(own, key=lambda synset: -spread[synset])[:share]
        found.others.extend(own[synset][0] for synset in usual if own[synset])


def _add_sentences(
    found: TextPairs, name: str, language: str, pivot: str, data: Dataset | None
) -> None:
    """Captions of the same image, or text-only sentences of the same tuple."""
    texts, known = parallel(name, language, pivot, data)
    by_image: dict[int, list[str]] = {}
    for text, image in zip(known.texts, known.image.tolist(), strict=True):
        by_image.setdefault(image, []).append(text)
    for text, image in zip(texts.texts, texts.image.tolist(), strict=True):
        others = by_image.get(image, [])
        for translation in others:
            found.add(text, translation, 1 / len(others))
    found.others.extend(known.texts)


@dataclass(frozen=True)
class _Texts:
    """Former embeddings [n, D] before normalisation, and the trained rows of each text."""

    former: Tensor
    rows: Ragged
    scale: Tensor
    """[n], one divided by the square root of the number of all rows."""


class _Teacher:
    """Trains rows of hashed subwords on pairs."""

    def __init__(self, model: Model, tower: SentenceTower, pairs: TextPairs) -> None:
        assert tower.words is not None
        assert tower.word_projection is not None
        assert isinstance(model.embedder, SubwordEmbedder)
        self.model, self.tower, self.embedder = model, tower, model.embedder
        self.chance = np.random.default_rng(0)
        both = self._have_words(pairs.texts) & self._have_words(pairs.translations)
        readable = np.flatnonzero(both).tolist()
        if len(readable) < FEWEST:
            raise PolyglanceError(
                f"{len(readable)} pairs of texts are too few to train on; pass a lexicon, a "
                "dictionary or sentences with the language and one that the model knows"
            )
        self.texts = list(dict.fromkeys(pairs.texts[row] for row in readable))
        self.translations = list(dict.fromkeys(pairs.translations[row] for row in readable))
        first = {text: number for number, text in enumerate(self.texts)}
        second = {text: number for number, text in enumerate(self.translations)}
        self.pairs = np.array(
            [[first[pairs.texts[row]], second[pairs.translations[row]]] for row in readable]
        )
        weights = np.array([pairs.weights[row] for row in readable])
        self.weights = weights / weights.sum()
        self.known = list(self.embedder.common_words(model.languages))
        own = np.unique(self._buckets(self.texts).flat)
        self.rows = np.setdiff1d(own, self._buckets([*self.known, *pairs.fixed]).flat)
        if not len(self.rows):
            raise PolyglanceError("the model already knows all words of the texts")
        taught = set(self.texts)
        others = [t for t in dict.fromkeys([*pairs.others, *self.translations]) if t not in taught]
        rows = self.chance.permutation(np.flatnonzero(self._have_words(others)))[:KEPT_TEXTS]
        self.others = [others[row] for row in rows]

    def teach(self, epochs: int, lr: float) -> tuple[TaughtLanguage, np.ndarray]:
        """Train, and change the rows of the model; returns what it brought, and the rows.

        Args:
            epochs: number of epochs.
            lr: learning rate.
        """
        assert self.tower.words is not None
        targets = functional.normalize(self._read(self.translations).former, dim=1)
        texts, others = self._read(self.texts), self._read(self.others)
        self.change = nn.Parameter(
            torch.zeros(len(self.rows), self.tower.words.dim, device=self.model.device)
        )
        before = self._recall(texts, targets)
        self._train(texts, targets, others, epochs, lr)
        with torch.no_grad():
            after = self._recall(texts, targets)
            same = self._similarity(others, np.arange(len(self.others)))
            self.tower.words.weight[torch.from_numpy(self.rows)] += self.change
        found = TaughtLanguage(
            self.model,
            len(self.pairs),
            before,
            after,
            len(self.known),
            float(same.mean()) if len(same) else 1.0,
            float(same.min()) if len(same) else 1.0,
        )
        return found, self.rows

    def _train(
        self, texts: _Texts, targets: Tensor, others: _Texts, epochs: int, lr: float
    ) -> None:
        # A batch has few of the rows: an update of all of them would take most of the time.
        optimizer = torch.optim.SparseAdam([self.change], lr=lr)
        updates = epochs * max(1, -(-len(self.pairs) // BATCH))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
        with Bar("training", updates, "updates") as bar:
            for _ in range(updates):
                drawn = self.chance.choice(len(self.pairs), BATCH, p=self.weights)
                own, wanted = self.pairs[drawn].T
                made = self._embed(texts, own)
                loss = _matching(made, targets, wanted)
                if len(self.others):
                    kept = self.chance.integers(0, len(self.others), BATCH)
                    loss = loss + KEEP * (1 - self._similarity(others, kept)).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                bar.advance(1)

    def _embed(self, texts: _Texts, chosen: np.ndarray) -> Tensor:
        """Embeddings [n, D] of length one of the texts `chosen` [n]."""
        assert self.tower.word_projection is not None
        part, device = texts.rows[chosen], self.model.device
        sums = functional.embedding_bag(
            torch.from_numpy(part.flat).to(device),
            self.change,
            torch.from_numpy(part.offsets[:-1]).to(device),
            mode="sum",
            sparse=True,
        )
        index = torch.from_numpy(chosen).to(device)
        changed = functional.linear(sums * texts.scale[index, None], self._projection)
        return functional.normalize(texts.former[index] + changed, dim=1)

    @property
    def _projection(self) -> Tensor:
        assert self.tower.word_projection is not None
        return self.tower.word_projection.weight.detach()

    def _similarity(self, texts: _Texts, chosen: np.ndarray) -> Tensor:
        """Cosine similarity [n] of the texts `chosen` [n] with their former embeddings."""
        former = functional.normalize(texts.former[torch.from_numpy(chosen)], dim=1)
        return (self._embed(texts, chosen) * former).sum(1)

    def _recall(self, texts: _Texts, targets: Tensor) -> float:
        """Percentage of (at most 1,000) pairs whose translation is the closest of all of these."""
        drawn = np.random.default_rng(1).permutation(len(self.pairs))[:1000]
        own, wanted = self.pairs[drawn].T
        distinct, number = np.unique(wanted, return_inverse=True)
        with torch.no_grad():
            scores = self._embed(texts, own) @ targets[torch.from_numpy(distinct)].T
        return 100 * float(np.mean(scores.argmax(1).cpu().numpy() == number))

    def _read(self, texts: Sequence[str]) -> _Texts:
        """The texts' former embeddings, and the rows that are trained."""
        tokens, device = self.model.tokens(texts), self.model.device
        former = torch.zeros(len(texts), self.tower.dim, device=device)
        order = np.argsort(-tokens.ids.lengths, kind="stable")
        with torch.inference_mode(), Bar("texts", len(order), "texts") as bar:
            for start in range(0, len(order), EMBEDDED_AT_ONCE):
                chosen = order[start : start + EMBEDDED_AT_ONCE]
                ids, lengths = (torch.from_numpy(part) for part in tokens.ids.pad(chosen))
                batch = move(TextBatch(ids, lengths, tokens.unseen), device)
                former[torch.from_numpy(chosen)] = self.tower(batch)
                bar.advance(len(chosen))
        buckets = self._buckets(texts)
        place = np.searchsorted(self.rows, buckets.flat)
        inside = self.rows[np.minimum(place, len(self.rows) - 1)] == buckets.flat
        number = np.repeat(np.arange(len(texts)), buckets.lengths)
        counts = np.bincount(number[inside], minlength=len(texts))
        trained = Ragged(place[inside], np.concatenate([[0], np.cumsum(counts)]))
        scale = 1 / np.sqrt(np.maximum(buckets.lengths, 1))
        return _Texts(former, trained, torch.from_numpy(scale.astype(np.float32)).to(device))

    def _buckets(self, texts: Sequence[str]) -> Ragged:
        """Buckets of each text's hashed subwords."""
        if not texts:
            return Ragged(np.empty(0, np.int64), np.zeros(1, np.int64))
        first = self.embedder.first
        ids = self.model.tokens(texts).ids
        number = np.repeat(np.arange(len(texts)), ids.lengths)
        hashed = ids.flat >= first
        counts = np.bincount(number[hashed], minlength=len(texts))
        return Ragged(
            ids.flat[hashed].astype(np.int64) - first, np.concatenate([[0], np.cumsum(counts)])
        )

    def _have_words(self, texts: Sequence[str]) -> np.ndarray:
        """Whether each of the texts [n] has a word."""
        return np.array([has_word(text) for text in texts], bool)


def _matching(found: Tensor, targets: Tensor, wanted: np.ndarray) -> Tensor:
    """InfoNCE against the translations of the batch, and the distance from one's own.

    Args:
        found: [B, D].
        targets: [n, D], of all translations.
        wanted: [B], rows of `targets`; equal ones are no negatives.
    """
    rows = torch.from_numpy(wanted).to(found.device)
    own = targets[rows]
    scores = found @ own.T / TEMPERATURE
    same = rows[:, None] == rows[None, :]
    same.fill_diagonal_(False)
    scores = scores.masked_fill(same, -torch.inf)
    matching = functional.cross_entropy(scores, torch.arange(len(rows), device=found.device))
    return matching + (1 - (found * own).sum(1)).mean() / TEMPERATURE
