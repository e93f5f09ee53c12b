"""The spike-and-slab posterior written down as plainly as possible, and data to compare on."""

from itertools import product

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

HYPER = {"noise_variance": 0.8, "slab_variance": 0.5, "prior_inclusion": 0.3}


def regression(n_samples=40, n_features=6, correlation=0.0, seed=0):
    """Inputs with correlation ζ^|i−j|, a sparse response, means away from zero."""
    rng = np.random.default_rng(seed)
    distance = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    X = rng.multivariate_normal(np.zeros(n_features), float(correlation) ** distance, size=n_samples)
    weights = np.where(np.arange(n_features) % 3 == 0, 0.6, 0.0)
    return X + 2, X @ weights + rng.standard_normal(n_samples) - 3


def brute_force(X, y, noise_variance, slab_variance, prior_inclusion):
    """(log evidence, E[s], E[s w]): y given s is N(0, σ² I + σ_w² X_s X_sᵀ), one subset at a time."""
    X, y = X - X.mean(axis=0), y - y.mean()
    subsets = np.array(list(product([0.0, 1.0], repeat=X.shape[1])))
    log_joint, means = [], []
    for s in subsets:
        covariance = noise_variance * np.eye(y.size) + slab_variance * (X * s) @ X.T
        log_prior = np.sum(np.where(s == 1, np.log(prior_inclusion), np.log(1 - prior_inclusion)))
        log_joint.append(multivariate_normal(np.zeros(y.size), covariance).logpdf(y) + log_prior)
        means.append(slab_variance * s * (X.T @ np.linalg.solve(covariance, y)))
    log_evidence = logsumexp(log_joint)
    probability = np.exp(np.array(log_joint) - log_evidence)
    return log_evidence, probability @ subsets, probability @ np.array(means)
