"""The inner loops: compiled where the extension was built, plain NumPy elsewhere, with the same answers."""

from __future__ import annotations

from importlib.util import find_spec

try:
    from garrote._descent import BlockDescent
    from garrote._exchange import BlockScreen
    from garrote._fast import gibbs_sweep, pmf_sweep
    from garrote._outside import bin_correlations, inclusions, likeliest
    from garrote._passes import centre_columns, column_moments, respond_to_columns

    if find_spec("garrote._search") is None:  # it imports modules that import this one
        raise ImportError("the compiled search was not built")
    COMPILED = True
except ImportError:
    BlockDescent = None  # type: ignore[assignment, misc]  # its plain twin is garrote.minimise.minimise_plain
    BlockScreen = None  # type: ignore[assignment, misc]  # its plain twin is garrote.exchange.Screen
    column_moments = None  # type: ignore[assignment]  # its plain twin is in garrote.design.DenseDesign
    respond_to_columns = None  # type: ignore[assignment]  # its plain twin is garrote.background.Respond
    from garrote._plain import centre_columns, gibbs_sweep, pmf_sweep
    from garrote._plain_outside import bin_correlations, inclusions, likeliest

    COMPILED = False

__all__ = [
    "COMPILED",
    "BlockDescent",
    "BlockScreen",
    "bin_correlations",
    "centre_columns",
    "column_moments",
    "gibbs_sweep",
    "inclusions",
    "likeliest",
    "pmf_sweep",
    "respond_to_columns",
]
