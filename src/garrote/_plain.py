"""The plain NumPy twins of ``_fast.pyx``, and of a loop in ``_passes.pyx``: the fallback without a compiler, and the
oracle of its tests.

Both sweeps meet the same question for each feature i, all others held at their present v: with r₋ᵢ the
residual without feature i, the slab's posterior given s_i = 1 is N(μ_i, τ_i),

    1/τ_i = ‖x_i‖²/σ² + 1/σ_w²,    μ_i = (τ_i/σ²) x_i·r₋ᵢ,
    logit p(s_i = 1) = logit π + ½ log(τ_i/σ_w²) + μ_i²/(2τ_i).

``tau`` and ``bias`` = logit π + ½ log(τ_i/σ_w²) do not change during a sweep and are passed in.
"""

from __future__ import annotations

from math import sqrt

from scipy.special import expit

from garrote.arrays import Array


def pmf_sweep(
    X: Array,
    sq_norms: Array,
    tau: Array,
    bias: Array,
    noise_variance: float,
    residual: Array,
    m: Array,
    w: Array,
) -> None:
    """One coordinate E-step of PMF: each q(w_i, s_i) in turn becomes its optimum given the others.

    ``residual`` = y − X(m∘w), ``m`` and ``w`` are updated in place.
    """
    for i in range(m.size):
        v = m[i] * w[i]
        w[i] = tau[i] / noise_variance * (X[:, i] @ residual + sq_norms[i] * v)
        m[i] = expit(bias[i] + w[i] ** 2 / (2 * tau[i]))
        residual -= (m[i] * w[i] - v) * X[:, i]


def gibbs_sweep(
    X: Array,
    sq_norms: Array,
    tau: Array,
    bias: Array,
    noise_variance: float,
    residual: Array,
    v: Array,
    inclusion: Array,
    mean: Array,
    uniforms: Array,
    normals: Array,
) -> None:
    """One pass of the paired Gibbs sampler: each (s_i, w_i) in turn is drawn jointly given the others.

    ``uniforms`` decide the s_i and ``normals`` the w_i. ``residual`` = y − Xv and ``v`` = s∘w are updated in
    place; ``inclusion`` and ``mean`` receive p(s_i = 1) and μ_i as they were when i was drawn.
    """
    for i in range(v.size):
        mean[i] = tau[i] / noise_variance * (X[:, i] @ residual + sq_norms[i] * v[i])
        inclusion[i] = expit(bias[i] + mean[i] ** 2 / (2 * tau[i]))
        drawn = mean[i] + sqrt(tau[i]) * normals[i] if uniforms[i] < inclusion[i] else 0.0
        residual -= (drawn - v[i]) * X[:, i]
        v[i] = drawn


def centre_columns(columns: Array, mean: Array, scale: Array) -> None:
    columns -= mean
    columns *= scale[:, None]
