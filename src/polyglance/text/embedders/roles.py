"""A table of words, and graphs of semantic roles of captions (Chen et al. 2020, HGR, §3.1)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from polyglance.data.leakage import text_key
from polyglance.data.role_graphs import FILE, RoleGraph, read_role_graphs
from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe, RolesEmbedderRecipe
from polyglance.storage.files import read_json, write_json
from polyglance.text.embedders.base import LanguageTags, Texts, TrainingTexts, Words, register
from polyglance.text.embedders.encoded import EncodedTexts
from polyglance.text.embedders.table import TableEmbedder
from polyglance.text.embedders.vocabulary import Vocabulary

T = TypeVar("T")
GRAPHS = "role_graphs.json"
"""The graphs in a model's folder, in the format of the authors' file."""


class GraphTable:
    """All graphs of an embedder as arrays; nodes are the sentence, the verbs and the entities.

    `spans` [G, V + E, T] bool are the words of each node, `roles` [G, V + E] their roles, and
    `edges` [G, 1 + V + E, 1 + V + E] bool the nodes (columns) from which a node gets messages.

    Args:
        graphs: G of them, by caption.
        settings: largest numbers of verbs V and entities E of a caption.
        most: T, words of a caption; later ones are cut off.
    """

    def __init__(
        self, graphs: Mapping[str, RoleGraph], settings: RolesEmbedderRecipe, most: int
    ) -> None:
        verbs, nodes = settings.verbs, settings.verbs + settings.entities
        self.number = {key: row for row, key in enumerate(graphs)}
        self.spans = np.zeros((len(graphs), nodes, most), bool)
        self.roles = np.zeros((len(graphs), nodes), np.int64)
        self.edges = np.zeros((len(graphs), 1 + nodes, 1 + nodes), bool)
        self.words: list[tuple[str, ...]] = []
        for row, whole in enumerate(graphs.values()):
            graph = whole.within(most, verbs, settings.entities)
            self.words.append(graph.words)
            for place, node in [
                *enumerate(graph.verbs),
                *((verbs + place, node) for place, node in enumerate(graph.entities)),
            ]:
                self.spans[row, place, list(node.places)] = True
                self.roles[row, place] = node.role
            # Verbs get messages from the sentence and their entities, entities from their verbs.
            self.edges[row, 1 : 1 + len(graph.verbs), 0] = True
            for verb, entity in graph.edges:
                self.edges[row, 1 + verb, 1 + verbs + entity] = True
                self.edges[row, 1 + verbs + entity, 1 + verb] = True


@register
class RolesEmbedder(TableEmbedder):
    """A table of words; the first id of a caption is the index of its graph in `graphs`.

    A caption's words are those of the graph's sentence, since its positions refer to them. A
    caption without a graph is an error: roles are read from a file.

    Args:
        recipe: of the whole model.
        vocabularies: by language, or under "" for all.
        graphs: by caption; None for no caption.
        source: the file they were read from.
    """

    variants = (RolesEmbedderRecipe,)

    def __init__(
        self,
        recipe: Recipe,
        vocabularies: Mapping[str, Vocabulary],
        graphs: Mapping[str, RoleGraph] | None = None,
        source: Path | None = None,
    ) -> None:
        super().__init__(recipe, vocabularies)
        assert isinstance(self.settings, RolesEmbedderRecipe)
        self.source = source
        self.graphs = GraphTable(graphs or {}, self.settings, recipe.text.max_length)

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "RolesEmbedder":
        source = _find(recipe, texts)
        graphs = read_role_graphs(source)
        words = [
            _of(graphs, text, source).words[: recipe.text.max_length]
            for text in texts.captions.texts
        ]
        table = TableEmbedder.build(recipe, replace(texts, words=words))
        built = cls(recipe, table.vocabularies, graphs, source)
        built.vectors = table.vectors
        return built

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "RolesEmbedder":
        table = TableEmbedder.load(recipe, folder)
        source = folder / GRAPHS
        return cls(recipe, table.vocabularies, read_role_graphs(source), source)

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.source is not None and self.source != folder / GRAPHS:
            write_json(folder / GRAPHS, read_json(self.source))

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        rows = [_of(self.graphs.number, text, self.source) for text in texts]
        found = [self.graphs.words[row] for row in rows]
        ids = super().encode(texts, found, languages).ids
        parts = [[row, *ids[number].tolist()] for number, row in enumerate(rows)]
        return EncodedTexts(Ragged.join(parts))


def _find(recipe: Recipe, texts: TrainingTexts) -> Path:
    settings = recipe.text.embedder
    assert isinstance(settings, RolesEmbedderRecipe)
    if settings.graphs is not None:
        return Path(settings.graphs)
    root = None if texts.dataset is None else texts.dataset.root
    if root is None or not (root / FILE).is_file():
        place = "beside the captions" if root is None else f"into {root}"
        raise PolyglanceError(
            f"{recipe.name} needs the semantic roles of the captions: put HGR's {FILE} {place}, or "
            "set text.embedder.graphs=FILE; 'video-vsepp' and 'video-vse-infinity' need no roles"
        )
    return root / FILE


def _of(graphs: Mapping[str, T], text: str, source: Path | None) -> T:
    try:
        return graphs[text_key(text)]
    except KeyError:
        raise PolyglanceError(
            f"{source}: has no semantic roles of {text!r}; it needs all training and evaluation "
            "captions (exclude other languages with data.languages or --languages)"
        ) from None
