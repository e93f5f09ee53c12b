"""
Very many features: memory-mapped and sparse
============================================

X is never copied, centred or scaled as a whole: a working set of columns is, and now and then a pass over all others
looks for those that belong to it. So a matrix may stay on disk, or be sparse.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from garrote import garrote_path

rng = np.random.default_rng(0)
n_samples, n_features = 200, 20_000

# %%
# A memory-mapped array in single precision.
with tempfile.TemporaryDirectory() as folder:
    X = np.lib.format.open_memmap(Path(folder) / "X.npy", "w+", np.float32, (n_samples, n_features))
    X[:] = rng.standard_normal(X.shape, dtype=np.float32)
    true = rng.choice(n_features, 8, replace=False)
    y = X[:, true].sum(axis=1) + 0.5 * rng.standard_normal(n_samples)
    path = garrote_path(X, y, gammas=20)
    del X


def right_and_wrong(solution):
    right = np.isin(solution.selected, true).sum()
    return right, len(solution.selected) - right


right, wrong = right_and_wrong(path[len(path) // 2])
print(f"{len(path)} values of γ in {path.n_passes} passes over X")
print(f"half way up the path: {right} of {len(true)} true features selected, and {wrong} others")

# %%
# A sparse matrix: counts of rare events.
counts = sparse.csc_array(
    sparse.random(500, 20_000, density=0.01, random_state=rng, data_rvs=lambda size: rng.poisson(1, size) + 1.0)
)
true = rng.choice(counts.shape[1], 8, replace=False)
y = counts[:, true].sum(axis=1) + rng.standard_normal(500)
sparse_path = garrote_path(counts, y, gammas=np.linspace(-24.0, -10.0, 15))
print(f"{counts.nnz} entries, {sparse_path.n_passes} passes")

fig, ax = plt.subplots(layout="constrained")
for label, values in zip(
    ("true features", "others"), zip(*map(right_and_wrong, sparse_path), strict=True), strict=True
):
    ax.plot(sparse_path.gammas, values, label=label)
ax.set(xlabel="γ", ylabel="selected of 20 000")
ax.legend(frameon=False)
