"""What the library must agree with: the paper's equations as printed, and brute force."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlogy


class Centred(NamedTuple):
    """b, χ, σ_y² and p of Eq. (likelihood), computed the naive way."""

    b: np.ndarray
    chi: np.ndarray
    sigma2_y: float
    n_samples: int


def centred(X: np.ndarray, y: np.ndarray) -> Centred:
    X, y = X - X.mean(axis=0), y - y.mean()
    n = len(y)
    return Centred(X.T @ y / n, X.T @ X / n, float(y @ y / n), n)


def enumerated_free_energy(X, y, m, w, beta, gamma, ridge=0.0) -> float:
    """Eq. (bound): Σ_s q(s) log [q(s) / (p(s|γ) p(D|s,w,β))] over all 2ⁿ states, without the constant log(1 + e^γ).

    With a slab, each s_i = 1 adds (β p/2) λ χ_ii w_i².
    """
    X, y = X - X.mean(axis=0), y - y.mean()
    n_samples, n_features = X.shape
    chi = (X**2).mean(axis=0)
    total = 0.0
    for state in itertools.product([0, 1], repeat=n_features):
        s = np.array(state)
        log_q = np.sum(np.where(s == 1, np.log(m), np.log1p(-m)))
        rss = np.sum((y - X @ (s * w)) ** 2)
        log_likelihood = 0.5 * n_samples * np.log(beta / (2 * np.pi)) - 0.5 * beta * rss
        log_slab = -0.5 * beta * n_samples * ridge * np.sum(s * chi * w**2)
        total += np.exp(log_q) * (log_q - np.sum(gamma * s) - log_likelihood - log_slab)
    return float(total)


def printed_free_energy(data: Centred, m, w, beta, gamma) -> float:
    """Eq. (F), term by term."""
    v = m * w
    fit = v @ data.chi @ v + np.sum(m * (1 - m) * w**2 * np.diag(data.chi)) - 2 * v @ data.b + data.sigma2_y
    entropy = np.sum(xlogy(m, m) + xlogy(1 - m, 1 - m))
    p = data.n_samples
    return float(0.5 * beta * p * fit - np.sum(gamma * m) + entropy - 0.5 * p * np.log(beta / (2 * np.pi)))


def printed_primal(data: Centred, m: np.ndarray) -> tuple[np.ndarray, float]:
    """w and β of Eqs. (v) and (beta)."""
    chi_prime = data.chi * m + np.diag((1 - m) * np.diag(data.chi))
    w = np.linalg.solve(chi_prime, data.b)
    return w, 1.0 / (data.sigma2_y - np.sum(m * w * data.b))


def printed_dual(X: np.ndarray, y: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, float]:
    """w and β of Eqs. (w2), (A), (yhat), (beta1), (lambda1)."""
    X, y = X - X.mean(axis=0), y - y.mean()
    p, chi = len(y), (X**2).mean(axis=0)
    A = np.eye(p) + (X * (m / (1 - m) / chi)) @ X.T / p
    y_hat = np.linalg.solve(A, y)
    beta = 1.0 / float(y_hat @ y / p)
    w = X.T @ (beta * y_hat) / (beta * p * chi * (1 - m))
    return w, beta


def printed_path(X, y, gammas, *, max_iter=3000, tol=1e-9) -> np.ndarray:
    """F of Algorithm 1: a forward and a single backward pass with the printed damping, the lower of both.

    Infinite where neither pass converged (test: |σ(…) − m|, not the damped change).
    """
    data = centred(X, y)
    diagonal = np.diag(data.chi)
    lowest = np.full(len(gammas), np.inf)

    def run(order, m):
        for k in order:
            eta = 1.0
            for _ in range(max_iter):
                w, beta = printed_primal(data, m)
                if not beta > 0:
                    return m
                target = expit(gammas[k] + 0.5 * beta * data.n_samples * w**2 * diagonal)
                if np.abs(target - m).max() < tol:
                    lowest[k] = min(lowest[k], printed_free_energy(data, m, w, beta, gammas[k]))
                    break
                damped = (1 - eta) * m + eta * target
                if np.abs(damped - m).max() > 0.1:
                    eta /= 2
                m = damped
        return m

    m = run(range(len(gammas)), np.full(X.shape[1], expit(gammas[0])))
    run(range(len(gammas) - 1, -1, -1), m)
    return lowest
