"""SCAN and IMRAM of one image and one caption, step by step in numpy."""

import numpy as np


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def attend(queries, context, smooth):
    """What each query [D] attends to in the context [c, D]."""
    table = context @ queries.T  # [c, q]
    table = np.where(table > 0, table, 0.1 * table)
    table = table / (np.linalg.norm(table, axis=1, keepdims=True) + 1e-8)
    attended = []
    for column in table.T:
        weights = np.exp(smooth * column)
        attended.append((weights / weights.sum()) @ context)
    return np.array(attended)


def cosines(queries, attended):
    return np.array([float(unit(q) @ unit(a)) for q, a in zip(queries, attended, strict=True)])


def scan(queries, context, smooth, lse=None):
    found = cosines(queries, attend(queries, context, smooth))
    return found.mean() if lse is None else np.log(np.exp(lse * found).sum()) / lse


def imram(queries, context, smooth, steps, update, gate):
    """`update` and `gate` are (weight [D, 2D], bias [D])."""
    refined, total = queries, 0.0
    for _ in range(steps):
        attended = attend(refined, context, smooth)
        total += cosines(queries, attended).mean()
        both = np.concatenate([refined, attended], axis=1)
        g = 1 / (1 + np.exp(-(both @ gate[0].T + gate[1])))
        refined = g * refined + (1 - g) * np.tanh(both @ update[0].T + update[1])
    return total
