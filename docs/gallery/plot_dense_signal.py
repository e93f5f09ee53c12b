"""
When the signal is not sparse: λ
================================

The paper's prior on the coefficients is flat. Where many features matter a little, that is a poor choice: a Gaussian
slab of relative precision λ (``ridge``) helps, and for large γ the model becomes ridge regression. Cross-validation
chooses (γ, λ) together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import train_test_split

from garrote import VariationalGarroteCV

# %%
# How dark is the lower half of a handwritten digit, given the noisy upper half? All pixels tell a little.
rng = np.random.default_rng(0)
digits = load_digits().data[:600]
X = digits[:, :32] + 2.0 * rng.standard_normal((600, 32))
y = digits[:, 32:].mean(axis=1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

models = {
    "VG, flat slab (λ = 0)": VariationalGarroteCV(ridges=[0.0]),
    "VG, λ chosen": VariationalGarroteCV(ridges=[0.0, 0.1, 0.3, 1.0]),
    "Lasso": LassoCV(),
    "Ridge": RidgeCV(np.logspace(-2, 6, 30)),
}
for name, model in models.items():
    model.fit(X_train, y_train)
    error = np.mean((y_test - model.predict(X_test)) ** 2)
    used = np.sum(getattr(model, "inclusion_", model.coef_ != 0) > 0.5)
    print(f"{name:<22} test error {error:.4f}, features used {used}")

# %%
# The validation error over γ, one curve for each λ.
chosen = models["VG, λ chosen"]
fig, ax = plt.subplots(layout="constrained")
for ridge, errors in zip(chosen.ridges_, chosen.mse_path_, strict=True):
    ax.plot(chosen.gammas_, errors.mean(axis=1), label=f"λ = {ridge:g}")
ax.axvline(chosen.gamma_, color="0.5", ls="--")
ax.set(
    xlabel="γ",
    ylabel="validation error",
    xscale="symlog",
    title=f"chosen: γ = {chosen.gamma_:.1f}, λ = {chosen.ridge_:g}",
)
ax.legend(frameon=False)
