"""
A report to open in a browser
=============================

:func:`garrote.report.render` makes one HTML file of a fit: the finding in a sentence, a slider over γ that moves all
panels, the Lasso and ridge regression on the same folds, the peculiarities of the data. ``garrote demo`` writes two.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from garrote import VariationalGarroteCV
from garrote.report import render

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = VariationalGarroteCV().fit(X, y)
page = render(model, X, y, names=list(X.columns), title="Diabetes", command="python plot_report.py", seed=None)

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "report.html"
    file.write_text(page, encoding="utf-8")
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB, needs no network")

# %%
# The same validation curve as in the report.
errors = model.mse_path_[list(model.ridges_).index(model.ridge_)]
fig, ax = plt.subplots(layout="constrained")
ax.errorbar(
    model.gammas_, errors.mean(axis=1), errors.std(axis=1, ddof=1) / errors.shape[1] ** 0.5, fmt=".-", elinewidth=0.5
)
ax.axvline(model.gamma_, color="0.5", ls="--")
ax.set(xlabel="γ", ylabel="validation error", xscale="symlog")
