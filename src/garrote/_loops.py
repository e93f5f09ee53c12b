"""The inner loops: compiled where the extension was built, plain NumPy elsewhere, with the same answers."""

from __future__ import annotations

try:
    from garrote._descent import BlockDescent
    from garrote._fast import gibbs_sweep, pmf_sweep

    COMPILED = True
except ImportError:
    BlockDescent = None  # type: ignore[assignment, misc]  # its plain twin is garrote.minimise.minimise_plain
    from garrote._plain import gibbs_sweep, pmf_sweep

    COMPILED = False

__all__ = ["COMPILED", "BlockDescent", "gibbs_sweep", "pmf_sweep"]
