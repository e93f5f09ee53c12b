"""The picture of the home page, drawn when the site is built: what the Variational Garrote and the Lasso find."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV

from garrote import VariationalGarroteCV
from garrote.comparators.registry import selected
from garrote.datasets import example2


def draw(app):
    data = example2(np.random.default_rng(2012))
    models = {"Variational Garrote": VariationalGarroteCV(), "Lasso": LassoCV()}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
    position = np.arange(1, data.coef.size + 1)
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        model.fit(*data.merged)
        ax.vlines(position, 0, model.coef_, color="#3b7dd8", linewidth=2.5, label="estimated")
        true = data.coef != 0
        ax.plot(position[true], data.coef[true], "o", mfc="none", mec="#b3261e", ms=9, label="true")
        error = np.abs(model.coef_ - data.coef).sum()
        ax.set(title=f"{name}: {selected(model).sum()} of 100 used, Σ|error| = {error:.2f}", xlabel="feature")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("coefficient")
    axes[0].legend(frameon=False)
    target = Path(app.srcdir) / "_generated"
    target.mkdir(exist_ok=True)
    figure.savefig(target / "home.png", dpi=160)
    plt.close(figure)


def setup(app):
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
