"""
Correlated features: what inclusion does not say
================================================

Of two columns that are nearly the same, the Variational Garrote takes one. Which one is an accident of the sample, and
an inclusion of 1 does not mean that the other is irrelevant. Repeating the study shows it, as do the correlations.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from garrote import VariationalGarrote

# %%
# The size of a cell nucleus can be measured by its radius, perimeter or area: real measurements of 569 tumours, and an
# outcome that we make from the radius and the texture, so that the truth is known.
raw = load_breast_cancer(as_frame=True)
columns = [name for name in raw.data.columns if name.startswith("mean ")]
X = np.log1p(raw.data[columns])
print(X.corr().loc["mean radius", ["mean perimeter", "mean area"]].round(4))

standardised = (X - X.mean()) / X.std()
rng = np.random.default_rng(1)
y = standardised["mean radius"] + 0.5 * standardised["mean texture"] + 0.5 * rng.standard_normal(len(X))

# %%
# One fit is certain of itself. Twenty studies of a hundred patients each are not certain of each other.
studies = [rng.choice(len(X), 100, replace=False) for _ in range(20)]
inclusions = np.array([VariationalGarrote(gamma=-6.0).fit(X.iloc[rows], y.iloc[rows]).inclusion_ for rows in studies])

fig, ax = plt.subplots(layout="constrained")
place = np.arange(len(columns))
ax.barh(place + 0.2, inclusions[0], 0.4, label="inclusion in the first study")
ax.barh(place - 0.2, (inclusions > 0.5).mean(axis=0), 0.4, label="share of studies that select it")
ax.set_yticks(place, columns)
ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))

# %%
# A group as a whole can be certain though its members are not.
size = [columns.index(f"mean {name}") for name in ("radius", "perimeter", "area")]
chosen = inclusions[:, size] > 0.5
print("radius, perimeter, area:", chosen.mean(axis=0), " any of them:", chosen.any(axis=1).mean())
