"""Second moments from summary statistics: marginal z (or β̂ and its standard error) of each feature, and their LD.

A marginal regression of y on x_i with an intercept gives z_i = β̂_i/se_i with n − 2 degrees of freedom, hence the
correlation r_i = z_i/√(n − 2 + z_i²). With in-sample LD this is all that VG asks of the data, exactly:

    b_i = r_i √(σ_y² χ_ii),   χ_ij = LD_ij √(χ_ii χ_jj),   χ_ii = σ_y² (1 − r_i²)/((n − 2) se_i²).

Without se or σ_y² everything is in units of one standard deviation: χ_ii = σ_y² = 1.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import linalg

from garrote.arrays import Array
from garrote.checks import as_floats, check_number

#: Eigenvalues of LD below this fraction of the largest one count as zero.
NULL = 1e-6

#: Statistics that claim to explain a larger fraction of y's variance are refused; rounded z exceed 1 a little.
EXPLAINABLE = 1.05

#: Twice the log-likelihood ratio by which the opposite sign of a z must fit its neighbours better to be reported.
SUSPICIOUS = 20.0

#: Shrinkage of LD where z is predicted from its neighbours, so that duplicates of a variant do no harm.
SHRINKAGE = 1e-3


def from_summary(
    statistics: Any,
    ld: Any,
    n_samples: float,
    *,
    var_y: float | None = None,
    alleles: Any = None,
    ld_alleles: Any = None,
    ridge: float = 0.0,
) -> tuple[Array, Array, float]:
    """b, χ and σ_y² of summary statistics, after checks that they and LD belong together."""
    z, se = _statistics(statistics)
    n = check_number("n_samples", n_samples, above=2.0)
    shrinkage = check_number("ridge", ridge, least=0.0)
    if shrinkage > 1.0:
        raise ValueError(f"ridge is {ridge!r}; it must be between 0 and 1, where 1 leaves nothing of the LD.")
    correlations = shrunk(check_ld(ld, len(z)), shrinkage)
    if (alleles is None) != (ld_alleles is None):
        raise ValueError("alleles and ld_alleles belong together; give both, or neither.")
    if alleles is not None:
        z = z * allele_signs(alleles, ld_alleles, len(z))
    r = z / np.sqrt(n - 2.0 + z**2)
    check_consistency(z, r, correlations)
    sigma2_y = 1.0 if var_y is None else check_number("var_y", var_y, above=0.0)
    scale = np.ones(len(z))
    if se is not None and var_y is not None:
        scale = np.sqrt(sigma2_y * (1.0 - r**2) / (n - 2.0)) / se
    return r * scale * np.sqrt(sigma2_y), correlations * scale * scale[:, None], sigma2_y


def _statistics(statistics: Any) -> tuple[Array, Array | None]:
    """z, and the standard errors where they are given."""
    if isinstance(statistics, tuple) and len(statistics) == 2 and np.ndim(statistics[0]) == 1:
        beta, se = as_floats("beta", statistics[0]), as_floats("se", statistics[1])
        if se.shape != beta.shape:
            raise ValueError(f"beta has {len(beta)} entries but se has shape {se.shape}; give one of each per feature.")
        if not (np.isfinite(se).all() and (se > 0).all()):
            raise ValueError("se has entries that are not positive numbers; remove those features.")
        z: Array = beta / se
    else:
        z, se = as_floats("z", statistics), None
    if z.ndim != 1 or not len(z):
        raise ValueError(f"z has shape {z.shape}; give one z per feature, or a pair (beta, se) of such lists.")
    if not np.isfinite(z).all():
        k = int(np.flatnonzero(~np.isfinite(z))[0])
        raise ValueError(f"the statistic of feature {k} is NaN or infinite; remove that feature, from ld as well.")
    return z, se


def check_ld(ld: Any, n_features: int) -> Array:
    """Correlations: square, symmetric, with ones on the diagonal."""
    matrix = as_floats("ld", ld)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"ld has shape {matrix.shape}, but there are {n_features} statistics; give their {n_features} × "
            f"{n_features} correlations in the same order."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("ld contains NaN or infinity, as monomorphic variants give; remove those variants.")
    if np.abs(matrix.diagonal() - 1.0).max() > 1e-3:
        k = int(np.abs(matrix.diagonal() - 1.0).argmax())
        raise ValueError(
            f"ld has {matrix[k, k]:.4g} on its diagonal at feature {k}; give correlations (not covariances, not r²)."
        )
    if not np.allclose(matrix, matrix.T, atol=1e-6):
        raise ValueError("ld is not symmetric; give the matrix of correlations between the features.")
    return 0.5 * (matrix + matrix.T)


def shrunk(ld: Array, ridge: float) -> Array:
    """(1 − ridge)·LD + ridge·1."""
    return (1.0 - ridge) * ld + ridge * np.eye(len(ld))


def allele_signs(alleles: Any, ld_alleles: Any, n_features: int) -> Array:
    """+1 where both count the same allele, −1 where they count opposite ones."""
    mine, theirs = (
        np.char.upper(np.asarray(pair, dtype=str)) if np.shape(pair) == (2, n_features) else None
        for pair in (alleles, ld_alleles)
    )
    if mine is None or theirs is None:
        raise ValueError(
            "alleles and ld_alleles must each be a pair: the counted allele and the other one of each of the "
            f"{n_features} features."
        )
    same, swapped = (mine == theirs).all(axis=0), (mine == theirs[::-1]).all(axis=0)
    wrong = np.flatnonzero(~same & ~swapped)
    if len(wrong):
        k = int(wrong[0])
        raise ValueError(
            f"alleles of {len(wrong)} features do not fit ld_alleles, the first of them feature {k}: "
            f"{mine[0, k]}/{mine[1, k]} against {theirs[0, k]}/{theirs[1, k]}; bring both to the same strand, or "
            "remove those features."
        )
    return np.where(same, 1.0, -1.0)


def check_consistency(z: Array, r: Array, ld: Array) -> None:
    """Refuse LD or statistics that no data could give; warn of a single statistic that hardly could be.

    In any sample rᵀ LD⁻¹ r = R² ≤ 1, and r has no part where LD has none. And given its neighbours z_i is normal with a
    mean and variance that LD implies: where −z_i would be much more likely, an allele is probably swapped.
    """
    eigenvalues, u = linalg.eigh(ld, check_finite=False)
    if eigenvalues[0] < -NULL * eigenvalues[-1]:
        needed = np.ceil(-1e3 * eigenvalues[0] / (1.0 - eigenvalues[0])) / 1e3
        raise ValueError(
            f"ld is not positive semi-definite (its least eigenvalue is {eigenvalues[0]:.3g}); compute it from one set "
            f"of samples without missing calls, or pass ridge={needed:g} or more."
        )
    part = u.T @ r
    null = eigenvalues < NULL * eigenvalues[-1]
    explained = float((part[~null] ** 2 / eigenvalues[~null]).sum())
    beyond = float((part[null] ** 2).sum() / max(NULL, float(eigenvalues[null].max(initial=0.0))))
    odd, better = _least_likely(z, ld)
    if explained + beyond > EXPLAINABLE:
        raise ValueError(
            f"the statistics do not fit ld: together they would explain {explained + beyond:.4g} times the variance of "
            f"y; the least likely is that of feature {odd}. Check that alleles, order and samples are the same, or use "
            "a larger ridge if ld is from a reference panel."
        )
    if better > SUSPICIOUS:
        warnings.warn(
            f"z of feature {odd} is {z[odd]:.3g}, but its neighbours in ld imply the opposite sign; check its alleles.",
            stacklevel=4,
        )


def _least_likely(z: Array, ld: Array) -> tuple[int, float]:
    """The feature whose z would fit its neighbours better with the opposite sign, and by how much: −4 z μ/σ²."""
    precision = linalg.inv(shrunk(ld, SHRINKAGE), check_finite=False)
    variance = 1.0 / precision.diagonal()
    mean = z - variance * (precision @ z)
    gain = np.where(np.abs(z) > 2.0, -4.0 * z * mean / variance, 0.0)
    worst = int(gain.argmax())
    return worst, float(gain[worst])
