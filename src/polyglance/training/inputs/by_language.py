"""Texts of images, tuples or things, grouped by language."""

import numpy as np


class ByLanguage:
    """Rows of texts, grouped by owner and language.

    Owner number i has the groups `first[i] : first[i] + count[i]`, one per language; group g has
    the texts `rows[start[g] : start[g] + size[g]]`, in language `language[g]`.

    Args:
        rows: [n], texts.
        owner: [n], the image or meaning that each belongs to.
        languages: n, of each text.

    >>> found = ByLanguage(np.arange(4), np.array([7, 5, 7, 7]), ["de", "de", "en", "de"])
    >>> found.owners.tolist(), found.count.tolist(), found.language.tolist(), found.size.tolist()
    ([5, 7], [1, 2], ['de', 'de', 'en'], [1, 2, 1])
    """

    def __init__(self, rows: np.ndarray, owner: np.ndarray, languages: list[str]) -> None:
        codes, number = np.unique(np.array(languages, dtype=str), return_inverse=True)
        order = np.lexsort((number, owner))
        self.rows = rows[order]
        owner, number = owner[order], number[order]
        new = np.ones(len(order), bool)
        new[1:] = (owner[1:] != owner[:-1]) | (number[1:] != number[:-1])
        self.start = np.flatnonzero(new)
        self.size = np.diff(np.append(self.start, len(order)))
        self.language = codes[number[self.start]]
        self.owners, self.first, self.count = np.unique(
            owner[self.start], return_index=True, return_counts=True
        )

    def __len__(self) -> int:
        return len(self.owners)

    def texts(self, groups: np.ndarray, draw: np.ndarray, step: np.ndarray | int = 0) -> np.ndarray:
        """One text of each group, a row [n].

        Args:
            groups: [n], indices of groups.
            draw: [n], from 0 to 1, selects the text.
            step: how many texts further, cyclically.
        """
        size = self.size[groups]
        place = np.floor(draw * size).astype(np.int64) + step
        return self.rows[self.start[groups] + place % size]

    def several(self, owners: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
        """Texts [n, count] of owners [n], in distinct languages.

        If an owner has fewer languages they repeat, with different texts as far as possible.

        Args:
            owners: indices of owners.
            count: texts per owner.
            generator: random generator.
        """
        have = self.count[owners]
        keys = generator.random((len(owners), int(have.max(initial=1))))
        draws = generator.random(keys.shape)
        keys[np.arange(keys.shape[1]) >= have[:, None]] = 2.0
        order = np.argsort(keys, 1)
        columns, every = [], np.arange(len(owners))
        for number in range(count):
            place = order[every, number % have]
            groups = self.first[owners] + place
            columns.append(self.texts(groups, draws[every, place], number // have))
        return np.stack(columns, 1)
