"""A Block: a few features with their Gram matrix, on which F is minimised."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from garrote._loops import COMPILED, BlockDescent, BlockScreen
from garrote.arrays import Array, Index


class Columns:
    """Columns to which others are appended in place, so that large ones are not in memory twice.

    Room is reserved, for as many again and not for few, of which an operating system provides what is written.
    """

    LEAST_ROOM = 2048

    def __init__(self, array: Array) -> None:
        self.array = self._room = array

    def append(self, columns: Array) -> Array:
        """All of them; what was returned before stays as it is."""
        size, total = self.array.shape[1], self.array.shape[1] + columns.shape[1]
        if total > self._room.shape[1]:
            self._room = np.empty((len(columns), max(2 * total, self.LEAST_ROOM)), order="F")
            self._room[:, :size] = self.array
        self._room[:, size:total] = columns
        self.array = self._room[:, :total]
        return self.array


@dataclass(frozen=True)
class Block:
    """Some features, with all that the free energy asks about them.

    The least-squares part of the energy is ⟨(y − x·v)²⟩ = ‖target − root·v‖² + floor, with χ = rootᵀroot. Where only
    moments are known there is no root, and the same quantity is σ_y² − 2b·v + vᵀχv, which loses digits when the fit is
    very good.
    """

    features: Index
    chi: Array  #: χ_ii
    gram: Array  #: χ_ij
    b: Array
    sigma2_y: float
    n_samples: float
    root: Array | None = None
    target: Array | None = None
    floor: float = 0.0

    @cached_property
    def kernel(self) -> BlockDescent:
        """The compiled descent on this block, with its working memory."""
        return BlockDescent(
            self.root, self.target, self.gram, self.chi, self.b, self.floor, self.sigma2_y, self.n_samples
        )

    @cached_property
    def screen(self) -> BlockScreen:
        """The compiled screening of exchange moves on this block, with its working memory."""
        return BlockScreen(self.gram, self.chi, self.b, self.sigma2_y, self.n_samples)

    def copy(self) -> Block:
        """The same block, with a kernel and a screen of its own."""
        block = copy(self)
        for own in ("kernel", "screen"):
            block.__dict__.pop(own, None)
        return block

    def retargeted(self, target: Array, floor: float) -> Block:
        """The same features and another y; the compiled descent's working memory is shared."""
        assert self.root is not None
        block = replace(self, target=target, b=self.root.T @ target, floor=floor)
        if COMPILED:
            block.__dict__["kernel"] = self.kernel
        return block

    def first(self, size: int) -> Block:
        """Its first features."""
        assert self.root is not None
        return replace(
            self,
            features=self.features[:size],
            chi=self.chi[:size].copy(),
            gram=self.gram[:size, :size].copy(),
            b=self.b[:size].copy(),
            root=self.root[:, :size].copy(order="F"),  # a view would keep the others' memory
        )

    def extended(self, features: Index, root: Array) -> Block:
        """With more features; their columns follow its own in the new root."""
        assert self.target is not None
        size = len(self.features)
        columns = root[:, size:]
        gram = np.empty((root.shape[1], root.shape[1]))
        gram[:size, :size] = self.gram
        gram[size:] = columns.T @ root
        gram[:size, size:] = gram[size:, :size].T
        return replace(
            self,
            features=np.concatenate([self.features, features]),
            chi=np.ascontiguousarray(gram.diagonal()),
            gram=gram,
            b=np.concatenate([self.b, columns.T @ self.target]),
            root=root,
        )

    def residual(self, on: Index, v: Array) -> tuple[float, Array]:
        """⟨(y − x·v)²⟩ for v on the positions ``on``, and c_i = ⟨x_i (y − x·v)⟩ of every feature."""
        if self.root is None or self.target is None:
            c = self.b - self.gram[:, on] @ v
            return self.sigma2_y - float(v @ (self.b[on] + c[on])), c
        e = self.target - self.root[:, on] @ v
        return float(e @ e) + self.floor, self.root.T @ e
