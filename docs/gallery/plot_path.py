"""
The path over γ
===============

γ is the log prior odds that a feature belongs to the model. From left to right features enter; unlike on a Lasso path
they enter at once with their full coefficient, because selecting and estimating are two things here.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lasso_path

from garrote import garrote_path

X, y = load_diabetes(return_X_y=True, as_frame=True)
path = garrote_path(X, y)

fig, (coefs, inclusions, lasso) = plt.subplots(3, 1, figsize=(7, 9), layout="constrained")
for i, name in enumerate(X.columns):
    coefs.plot(path.gammas, path.coefs.toarray()[i], label=name)
    inclusions.plot(path.gammas, path.inclusions.toarray()[i])
coefs.set(ylabel="coefficient", title="Variational Garrote")
coefs.legend(ncols=5, fontsize="small", frameon=False)
inclusions.set(xlabel="γ", ylabel="inclusion")
inclusions.sharex(coefs)

alphas, lasso_coefs, _ = lasso_path(X - X.mean(), y - y.mean())
lasso.plot(-np.log10(alphas), lasso_coefs.T)
lasso.set(xlabel="−log₁₀ α", ylabel="coefficient", title="Lasso")

# %%
# Each point of the path is a :class:`~garrote.Solution`.
for solution in path[::8]:
    print(f"γ = {solution.gamma:6.1f}: {', '.join(X.columns[solution.selected]) or 'nothing'}")
