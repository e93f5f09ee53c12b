"""Each picture draws on the axes it is given, returns them, and shows what the model says."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from garrote import VariationalGarrote, VariationalGarroteCV, garrote_path, plot
from garrote.datasets import sparse_regression
from garrote.plot._shared import _apart
from garrote.theory import coexistence_gammas, gamma_star, rho_star

NAMES = [f"gene {i}" for i in range(15)]


@pytest.fixture(autouse=True, scope="module")
def without_a_screen():
    matplotlib.use("Agg")


@pytest.fixture(scope="module")
def data():
    X, y, _ = sparse_regression(60, 15, 4, zeta=0.9, sigma=0.5, rng=np.random.default_rng(4))
    return pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def model(data):
    return VariationalGarroteCV(25, cv=4).fit(*data)


@pytest.fixture
def ax():
    return Figure(figsize=(6, 4), layout="constrained").add_subplot()


def pictures(model, data):
    """Every picture, as a function of the axes."""
    place = np.repeat(["2", "X", "10"], 5), np.tile(np.arange(5) * 1000, 3)
    return {
        "coefficient_path": lambda ax: plot.coefficient_path(model, ax=ax),
        "inclusion_path": lambda ax: plot.inclusion_path(model, ax=ax),
        "free_energy": lambda ax: plot.free_energy(model, ax=ax),
        "validation_curve": lambda ax: plot.validation_curve(model, ax=ax),
        "predicted_observed": lambda ax: plot.predicted_observed(model, *data, ax=ax),
        "selected_features": lambda ax: plot.selected_features(model, ax=ax),
        "manhattan": lambda ax: plot.manhattan(model, *place, ax=ax),
        "phase_diagram": lambda ax: plot.phase_diagram(model, *data, ax=ax),
    }


def texts(ax):
    return {text.get_text() for text in ax.texts}


@pytest.mark.parametrize("name", plot.__all__)
def test_axes_in_axes_out(name, model, data, ax):
    assert pictures(model, data)[name](ax) is ax
    assert ax.get_xlabel()
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", plot.__all__)
def test_without_axes_there_are_new_ones(name, model, data):
    from matplotlib import pyplot

    ax = pictures(model, data)[name](None)
    pyplot.close(ax.figure)
    assert ax.has_data()


def test_paths_name_the_selected_features_and_mark_gamma(model, ax):
    plot.coefficient_path(model, ax=ax)
    chosen = np.flatnonzero(model.inclusion_ > 0.5)
    assert texts(ax) == {NAMES[i] for i in chosen}
    drawn = {tuple(np.round(line.get_ydata(), 9)) for line in ax.lines}
    for i in chosen:
        assert tuple(np.round(model.path_.coefs.toarray()[i], 9)) in drawn
    assert any(np.allclose(line.get_xdata(), model.gamma_) for line in ax.lines)


def test_a_bare_path_takes_names(data, ax):
    path = garrote_path(*data)
    plot.inclusion_path(path, names=NAMES, ax=ax)
    assert texts(ax) <= set(NAMES)
    assert {NAMES[i] for i in path[len(path) // 3].selected} <= texts(ax)


def test_hysteresis_is_shaded_exactly_where_the_directions_differ(ax):
    X, y, _ = sparse_regression(60, 80, 8, zeta=0.95, sigma=0.3, rng=np.random.default_rng(0))
    path = garrote_path(X, y)
    plot.free_energy(path, ax=ax)
    differs = np.abs(path.free_energy_up - path.free_energy_down) > 1e-6
    assert differs.any()
    spans = [patch.get_extents().transformed(ax.transData.inverted()) for patch in ax.patches]
    for gamma, flag in zip(path.gammas, differs, strict=True):
        inside = any(span.x0 - 1e-9 < gamma < span.x1 + 1e-9 for span in spans)
        assert inside or not flag


def test_validation_curve_marks_the_chosen_gamma_and_its_sparser_partner(model, ax):
    plot.validation_curve(model, ax=ax)
    marked = sorted(float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o")
    row = model.mse_path_[model.ridges_ == model.ridge_][0]
    mean, spread = row.mean(axis=1), row.std(axis=1, ddof=1) / 2.0
    best = np.nanargmin(mean)
    partner = model.gammas_[np.flatnonzero(mean <= mean[best] + spread[best])[0]]
    assert_allclose(marked, sorted([partner, model.gamma_]))


def test_validation_curve_needs_validation(data, ax):
    with pytest.raises(ValueError, match="VariationalGarrote has no validation errors"):
        plot.validation_curve(VariationalGarrote().fit(*data), ax=ax)


def test_predictions_inside_their_interval_are_counted(model, data, ax):
    plot.predicted_observed(model, *data, coverage=0.5, ax=ax)
    mean, std = model.predict(data[0], return_std=True)
    inside = np.abs(data[1] - mean) <= 0.6744897501960817 * std
    counts = [len(points.get_offsets()) for points in ax.collections[1:]]
    assert counts == [inside.sum(), (~inside).sum()]


def test_selected_features_are_labelled_with_their_inclusion(model, ax):
    plot.selected_features(model, ax=ax)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert set(labels) == set(model.get_feature_names_out())
    dots = ax.collections[-1]
    for (coefficient, _), inclusion, label in zip(dots.get_offsets(), dots.get_array(), labels, strict=True):
        i = NAMES.index(label)
        assert (coefficient, inclusion) == (model.coef_[i], model.inclusion_[i])


def test_manhattan_orders_chromosomes_and_names_what_is_selected(ax):
    inclusion = np.full(15, 0.01)
    inclusion[[2, 12]] = 0.9, 0.8
    plot.manhattan(inclusion, np.repeat([2, 10, 1], 5), np.tile(np.arange(5), 3), names=NAMES, ax=ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "10"]
    assert texts(ax) == {NAMES[2], NAMES[12]}
    with pytest.raises(ValueError, match="position has shape"):
        plot.manhattan(inclusion, np.ones(15), np.arange(3), ax=ax)


def test_phase_diagram_places_features_at_their_correlation(model, data, ax):
    plot.phase_diagram(model, *data, ax=ax)
    placed = np.concatenate([points.get_offsets() for points in ax.collections if len(points.get_offsets()) > 1])
    rho = [np.corrcoef(data[0][name], data[1])[0, 1] ** 2 for name in NAMES]
    assert_allclose(np.sort(placed[:, 0]), np.sort(rho), atol=1e-9)
    assert (placed[:, 1] == model.gamma_).all()
    lines = {tuple(np.round([line.get_xdata()[-1], line.get_ydata()[-1]], 9)) for line in ax.lines}
    furthest = max(x for x, _ in lines)
    for gamma in coexistence_gammas(furthest, 60):
        assert any(abs(y - gamma) < 1e-5 for x, y in lines if x == furthest)
    assert (round(rho_star(60), 9), round(gamma_star(60), 9)) in lines


def test_nothing_selected_is_a_picture_too(ax):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    model = VariationalGarrote(-30.0).fit(X, y)
    for picture in (plot.coefficient_path, plot.inclusion_path, plot.free_energy, plot.selected_features):
        picture(model, ax=ax)
    plot.phase_diagram(model, X, y, ax=ax)
    ax.figure.canvas.draw()


def test_an_unfitted_model_is_refused(ax):
    with pytest.raises(TypeError, match="fit it first"):
        plot.coefficient_path(VariationalGarrote(), ax=ax)


def test_labels_are_apart_and_inside():
    where = _apart(np.array([0.0, 0.0, 0.1, 0.9, 0.99, 1.0]), 0.1, 0.0, 1.0)
    assert (np.diff(where) >= 0.1 - 1e-12).all()
    assert where[0] >= 0.0
    assert where[-1] <= 1.0
