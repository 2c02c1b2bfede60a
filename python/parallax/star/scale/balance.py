"""The owner of each block, as the balancer of plx-star decides (src/star/balancer.cpp), from the recorded costs of the
blocks: the curve is cut into equal parts at the start, and again when the imbalance has cost more than moving blocks.

Example to read: tests/star/test_scale_check.py.
"""

from __future__ import annotations

import numpy as np

_noise = 0.02  # a difference in loads that measurements alone can make
_byte_s, _rebuild_s = 1e-9, 1e-3  # what moving costs, before it was measured


def cut_curve(costs, parts: int) -> np.ndarray:
    """The part of each block: where the middle of its cost lies, and at least one block for each (mesh/curve_cut.hpp)."""
    blocks, total = len(costs), float(np.sum(costs))
    owner = np.empty(blocks, dtype=int)
    before = 0.0
    for p, cost in enumerate(costs):
        middle = (before + 0.5 * cost) / total if total > 0 else (p + 0.5) / blocks
        owner[p] = min(int(middle * parts), parts - 1)
        before += cost
    for p in range(blocks):
        last = owner[p - 1] if p > 0 else -1
        least = max(last, parts - (blocks - p), 0)
        owner[p] = min(max(owner[p], least), max(last + 1, 0))
    return owner


class Balancer:
    """The balancer of one run; blocks are identified by (level, x, y, z)."""

    def __init__(self, parts: int, block_bytes: float):
        self.parts, self.block_bytes = parts, block_bytes
        self.weights: dict = {}
        self.lost_s = 0.0
        self.held: dict = {}

    def cut(self, blocks: list) -> np.ndarray:
        """The owner of each block of a mesh, along the curve."""
        if not self.held:
            owner = cut_curve(np.ones(len(blocks)), self.parts)
            self.held = dict(zip(blocks, owner.tolist()))
        return np.array([self.held[b] for b in blocks])

    def looked(self, blocks: list, seconds, after: list, steps: int) -> bool:
        """At a look: what the blocks took, and the mesh after it. True when blocks move."""
        mean = float(np.mean([s for s in seconds if s > 0] or [0.0]))
        for block, cost in zip(blocks, seconds):
            if cost > 0:
                self.weights[block] = _next_weight(self.weights.get(block, 0.0), float(cost), mean)
        self.weights = {b: _inherited(self.weights, b, np.mean) for b in after}
        self.held = {b: _inherited(self.held, b, lambda of: of[0]) for b in after}
        return self._decide(after, steps)

    def _decide(self, blocks: list, steps: int) -> bool:
        costs = np.array([self.weights[b] for b in blocks])
        held = np.array([self.held[b] for b in blocks])
        better = cut_curve(costs, self.parts)
        now, reachable = (np.bincount(owner, costs, self.parts).max() for owner in (held, better))
        self.lost_s += max(0.0, now - (1 + _noise) * reachable) * steps
        moving = max(np.count_nonzero((held == p) != (better == p)) for p in range(self.parts))
        if np.array_equal(held, better) or self.lost_s <= _rebuild_s + _byte_s * self.block_bytes * moving:
            return False
        self.lost_s = 0.0
        self.held = dict(zip(blocks, better.tolist()))
        return True


def _next_weight(weight: float, measured: float, mean: float) -> float:
    """An interrupted task looks dear: a measurement counts for at most three times what is expected, and a quarter."""
    if weight <= 0:
        return min(measured, 3 * mean)
    return weight + 0.25 * (min(measured, 3 * weight) - weight)


def _inherited(of: dict, block: tuple, merged):
    """A new block has what its parent had, or what `merged` makes of its children's."""
    if block in of:
        return of[block]
    level, x, y, z = block
    parent = (level - 1, x >> 1, y >> 1, z >> 1)
    if parent in of:
        return of[parent]
    children = [(level + 1, 2 * x + i, 2 * y + j, 2 * z + k) for k in (0, 1) for j in (0, 1) for i in (0, 1)]
    return merged([of[c] for c in children])
