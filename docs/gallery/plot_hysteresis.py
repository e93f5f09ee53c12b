"""
Free energy and hysteresis
==========================

The free energy has several minima, so where the path arrives depends on where it comes from. The search follows γ up
and down, tries exchanges of correlated features, and keeps the lowest free energy at every γ.
"""

import matplotlib.pyplot as plt
import numpy as np

from garrote import garrote_path
from garrote.datasets import sparse_regression
from garrote.theory import coexistence_gammas, univariate_solutions

rng = np.random.default_rng(3)
X, y, _ = sparse_regression(100, 60, 6, zeta=0.9, sigma=1.0, rng=rng)
path = garrote_path(X, y)

fig, ax = plt.subplots(layout="constrained")
ax.fill_between(path.gammas, path.free_energy_up, path.free_energy_down, color="0.85", label="hysteresis")
ax.plot(path.gammas, path.free_energy_up, label="annealed upwards")
ax.plot(path.gammas, path.free_energy_down, "--", label="followed downwards")
ax.plot(path.gammas, path.free_energies, "k", lw=1, label="lowest found")
ax.set(xlabel="γ", ylabel="free energy F", title="60 features, neighbours correlated by 0.9")
ax.legend(frameon=False)

lower = np.minimum(path.free_energy_up, path.free_energy_down) - path.free_energies
print(f"exchange moves lower F at {np.mean(lower > 1e-6):.0%} of the γ, by up to {lower.max():.1f} nats")

# %%
# With a single feature all solutions are known. Above the squared correlation ρ* there is a range of γ in which both
# “out” and “in” are stable, with an unstable solution between them.
n_samples, rho = 100, 0.4
low, high = coexistence_gammas(rho, n_samples)
fig, ax = plt.subplots(layout="constrained")
for gamma in np.linspace(low - 8, high + 8, 300):
    solutions = univariate_solutions(rho, gamma, n_samples)
    ax.plot(np.full(solutions.m.size, gamma), solutions.m, "k.", ms=2)
    ax.plot(gamma, solutions.minimum, "C0.", ms=4)
ax.axvspan(low, high, color="0.9")
ax.set(xlabel="γ", ylabel="inclusion m", title=f"One feature with ρ = {rho}: lowest F in blue, both stable in grey")
