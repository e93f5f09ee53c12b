"""
Where features stand in the phase diagram
=========================================

For one feature, the squared correlation ρ with the outcome and the sparsity γ decide whether it is out, in, or whether
both are stable. The measurements of the diabetes data are placed on that map.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from garrote.theory import coexistence_gammas, gamma_star, rho_star

X, y = load_diabetes(return_X_y=True, as_frame=True)
n_samples = len(y)
rho = np.array([np.corrcoef(X[name], y)[0, 1] ** 2 for name in X])

fig, ax = plt.subplots(layout="constrained")
critical = rho_star(n_samples)
grid = np.linspace(critical * 1.001, 0.6, 200)
low, high = np.array([coexistence_gammas(r, n_samples) for r in grid]).T
ax.fill_between(grid, low, high, color="0.85", label="both stable")
ax.plot(critical, gamma_star(n_samples), "k*", ms=10, label="critical point")
for r, name in zip(rho, X.columns, strict=True):
    ax.axvline(r, color="C0", lw=0.8)
    ax.text(r, 2, name, rotation=90, va="bottom", ha="center", fontsize="small")
ax.set(xlabel="squared correlation ρ", ylabel="γ", xlim=(0, 0.6), ylim=(-150, 0))
ax.legend(frameon=False, loc="lower left")
print(f"critical point for {n_samples} samples: rho* = {critical:.3f}, gamma* = {gamma_star(n_samples):.1f}")
