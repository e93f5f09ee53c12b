"""
Summary statistics
==================

The method needs the data only through their second moments. :class:`~garrote.Moments` of several hospitals, or of
pieces of a file that is too long for memory, add up to those of all rows; no row leaves its place.
"""

from functools import reduce
from operator import add

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from garrote import Moments, VariationalGarrote, garrote_path

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
hospitals = np.array_split(np.random.default_rng(0).permutation(len(y)), 4)
together = reduce(add, (Moments.from_data(X.iloc[rows], y.iloc[rows]) for rows in hospitals))

from_moments = VariationalGarrote(gamma=-5.0).fit(together)
from_rows = VariationalGarrote(gamma=-5.0).fit(X, y)
print("largest difference of a coefficient:", f"{np.abs(from_moments.coef_ - from_rows.coef_).max():.1e}")

# %%
# What is published is often less: each variable's correlation with the outcome, the correlations between them, and
# the number of samples. In these units the coefficients are standardised.
everything = np.corrcoef(X.T, y)
published = Moments(b=everything[:-1, -1], chi=everything[:-1, :-1], sigma2_y=1.0, n_samples=len(y))
path = garrote_path(published)

fig, ax = plt.subplots(layout="constrained")
ax.plot(path.gammas, path.coefs.toarray().T, label=list(X.columns))
ax.set(xlabel="γ", ylabel="standardised coefficient")
ax.legend(frameon=False, ncols=2)
