"""The report: what it says against oracles, that it is one inert file, and what it does in a browser."""

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from browser import DESKTOP, PHONE, browser, visit  # noqa: F401  (browser is a fixture)
from scipy import sparse
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import KFold, PredefinedSplit, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from garrote import Moments, VariationalGarrote, VariationalGarroteCV
from garrote.datasets import example2
from garrote.design import as_design
from garrote.problem import Samples
from garrote.report import render
from garrote.report.columns import inspect
from garrote.report.folds import compare, validate

HOSTILE = "<script>window.hacked = 1</script>"
HOSTILE_LINK = '<a href="javascript:window.hacked=1">x & "y"</a>'


def peculiar_data():
    """Example 2 of the paper with a constant column, two copies and a neighbour of selected features."""
    rng = np.random.default_rng(2012)
    X, y = example2(rng).merged
    X[:, 7] = 3.0
    X[:, 12] = 1.0 - 2.0 * X[:, 4]
    X[:, 70] = X[:, 60]
    X[:, 13] = X[:, 9] + 0.2 * rng.standard_normal(len(y))
    names = [f"x{i + 1}" for i in range(X.shape[1])]
    names[0], names[1] = HOSTILE, HOSTILE_LINK
    names[8], names[49] = names[49], names[8]  # so that the selected ones are not in alphabetical order
    return X, y, names


def page_of(model, X, y, names=None, **others):
    names = [f"x{i + 1}" for i in range(model.n_features_in_)] if names is None else names
    return render(model, X, y, names=names, **({"title": "A test", "command": "garrote demo", "seed": 1} | others))


def headline_of(page):
    return unescape(re.search(r'id="headline">(.*?)</p>', page)[1])


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page)[1])


@pytest.fixture(scope="module")
def fitted():
    X, y, names = peculiar_data()
    return VariationalGarroteCV().fit(X, y), X, y, names


@pytest.fixture(scope="module")
def page(fitted):
    model, X, y, names = fitted
    return page_of(model, X, y, names, title="A <b>title</b>", command="garrote fit 'a<b>.csv'", seed=2012)


@pytest.fixture(scope="module")
def file(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture
def small():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 6))
    return X, X[:, 1] + 0.3 * rng.standard_normal(40)


def test_the_headline_counts_the_selected_features_and_the_expected_error(fitted, page):
    model, *_ = fitted
    n_selected = int((model.inclusion_ > 0.5).sum())
    error = model.mse_path_.mean(axis=2)[
        list(model.ridges_).index(model.ridge_), list(model.gammas_).index(model.gamma_)
    ]
    assert headline_of(page).startswith(f"{n_selected} of 100 features carry the signal; expected error ")
    assert float(re.search(r"expected error ([\d.]+)", headline_of(page))[1]) == pytest.approx(error, rel=1e-2)


def test_the_panels_draw_the_path(fitted, page):
    model, X, _, names = fitted
    data = data_of(page)
    assert data["gammas"] == pytest.approx(model.path_.gammas, rel=1e-4)
    assert data["gammas"][data["chosen"]] == pytest.approx(model.gamma_, rel=1e-4)
    assert data["free_energy"]["lowest"] == pytest.approx(model.path_.free_energies, rel=1e-8)
    assert data["n_selected"] == [len(solution.selected) for solution in model.path_]
    strongest = int(np.argmax(np.abs(model.coef_) * X.std(axis=0)))
    curve = data["curves"][0]
    assert unescape(curve["name"]) == names[strongest]
    assert curve["effect"] == pytest.approx(model.path_.coefs.toarray()[strongest] * X[:, strongest].std(), rel=1e-4)


def test_lasso_and_ridge_are_those_of_scikit_learn_on_the_same_folds(small):
    X, y = small
    X = X * np.array([1.0, 10.0, 0.1, 1.0, 1.0, 1.0])
    model = VariationalGarroteCV(cv=KFold(4, shuffle=True, random_state=5)).fit(X, y)
    samples = Samples(X, y)
    _, lasso, ridge = compare(model, validate(model, samples, X, y), 0)

    def best(make, penalties):
        folds = KFold(4, shuffle=True, random_state=5).split(X)
        errors = [
            [np.mean((y[test] - make(p, len(train)).fit(X[train], y[train]).predict(X[test])) ** 2) for p in penalties]
            for train, test in folds
        ]
        return np.mean(errors, axis=0).min()

    largest = np.abs(samples.b / np.sqrt(samples.chi)).max()
    expected = best(
        lambda p, _: make_pipeline(StandardScaler(), Lasso(p, tol=1e-8)), largest * np.geomspace(1.0, 1e-3, 100)
    )
    assert lasso.errors.mean() == pytest.approx(expected, rel=1e-3)
    expected = best(lambda p, n: make_pipeline(StandardScaler(), Ridge(p * n)), np.geomspace(1e4, 1e-4, 50))
    assert ridge.errors.mean() == pytest.approx(expected, rel=1e-8)
    assert ridge.n_selected == 6


def test_very_many_features_are_screened_for_the_rivals_and_the_report_says_so(monkeypatch):
    monkeypatch.setattr("garrote.report.folds.MOST_FEATURES", 20)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 60))
    y = X[:, 30] + 0.1 * rng.standard_normal(50)
    model = VariationalGarrote(-6.0).fit(X, y)
    assert "only on the 20 features with the largest correlation" in page_of(model, X, y)
    _, lasso, ridge = compare(model, validate(model, Samples(X, y), X, y), len(model.path_) - 1)
    assert ridge.n_selected == 20
    assert lasso.errors.mean() < 0.05  # the signal was among them


def test_constant_columns_copies_and_neighbours_are_found(fitted, page):
    model, X, y, _ = fitted
    columns = inspect(Samples(X, y), np.flatnonzero(model.inclusion_ > 0.5))
    assert columns.constant.tolist() == [7]
    assert [group.tolist() for group in columns.copies] == [[4, 12], [60, 70]]
    assert [other.feature for other in columns.neighbours[9]] == [13]
    assert columns.neighbours[9][0].r == pytest.approx(np.corrcoef(X[:, 9], X[:, 13])[0, 1], rel=1e-9)
    for sentence in ("1 constant column, left out of the model: x8.", "2 groups of columns that are copies"):
        assert sentence in page


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_copies_are_those_that_brute_force_finds(dtype):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 400)).astype(dtype)
    X[:, 100:130] = X[:, :30]
    X[:, 200:210] = -3 * X[:, :10]
    X[:, 300:310] = X[:, :10] * (1 + 1e-3 * rng.standard_normal((30, 10)).astype(dtype))  # near, but no copies
    expected = [[i, 100 + i, 200 + i] if i < 10 else [i, 100 + i] for i in range(30)]
    for problem in (Samples(X, X[:, 0].astype(float)), Moments.from_data(X, X[:, 0])):
        assert [group.tolist() for group in inspect(problem, np.array([], dtype=int)).copies] == expected


def test_every_kind_of_data_makes_the_same_report(small):
    X, y = small
    model = VariationalGarroteCV().fit(X, y)
    expected = page_of(model, X, y)
    for same in (pd.DataFrame(X), sparse.csc_array(X), sparse.csr_array(X), as_design(X)):
        assert headline_of(page_of(model, same, y)) == headline_of(expected)


def test_a_given_gamma_is_validated_on_five_folds(small):
    X, y = small
    model = VariationalGarrote(-5.0, ridge=0.1).fit(X, y)
    errors = [
        np.mean((y[test] - VariationalGarrote(-5.0, ridge=0.1).fit(X[train], y[train]).predict(X[test])) ** 2)
        for train, test in KFold(5).split(X)
    ]
    assert data_of(page_of(model, X, y))["error"][-1] == pytest.approx(np.mean(errors), rel=1e-3)


def test_moments_make_a_report_without_folds(small):
    moments = Moments.from_data(*small)
    page = page_of(VariationalGarrote(-5.0).fit(moments), moments, None)
    assert headline_of(page).startswith("1 of 6 features carries the signal; noise level ")
    assert data_of(page)["error"] is None
    assert 'id="comparison"' not in page


def test_folds_that_cannot_be_repeated_are_not_compared(small):
    X, y = small
    random = page_of(VariationalGarroteCV(cv=ShuffleSplit(3)).fit(X, y), X, y)
    assert "cannot be repeated" in random
    assert "Ridge regression" not in random
    seeded = page_of(VariationalGarroteCV(cv=ShuffleSplit(3, random_state=0)).fit(X, y), X, y)
    assert "over the same 3 folds" in seeded


def test_one_split_has_no_standard_error(small):
    X, y = small
    split = PredefinedSplit([-1] * 20 + [0] * 20)
    page = page_of(VariationalGarroteCV(cv=split, refit=False).fit(X, y), X, y)
    assert "±" not in headline_of(page)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda X, y: (X, np.ones(40)), "The response is constant"),
        (lambda X, y: (np.zeros((40, 6)), y), "None of 6 features carries a signal"),
        (lambda X, y: (X, X.sum(axis=1) + 0.1 * y), "The signal does not look sparse, 6 of 6 features are used"),
        (lambda X, y: (X[:, 1:2], y), "1 of 1 features carries the signal"),
    ],
)
def test_the_headline_of_degenerate_data(small, make, expected):
    X, y = make(*small)
    assert headline_of(page_of(VariationalGarroteCV().fit(X, y), X, y)).startswith(expected)


def test_wrong_input_is_one_sentence(small):
    X, y = small
    model = VariationalGarrote().fit(X, y)
    with pytest.raises(ValueError, match="names has 2 entries, but X has 6 features"):
        page_of(model, X, y, ["a", "b"])
    with pytest.raises(ValueError, match="X has 5 features, but the model was fitted to 6"):
        page_of(model, X[:, :5], y)


def test_a_report_of_a_hundred_thousand_features_is_below_8_megabytes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 100_000), dtype=np.float32)
    y = 3 * (X[:, 3] + X[:, 500] - X[:, 99_000]) + 0.3 * rng.standard_normal(100)
    model = VariationalGarrote(-14.0).fit(X, y)
    page = page_of(model, X, y, [f"rs{i}" for i in range(100_000)])
    assert headline_of(page).startswith("3 of 100000 features carry the signal")
    assert len(page.encode()) < 8e6


def test_nothing_in_the_page_is_loaded_from_elsewhere(page):
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "default-src 'none'" in unescape(own)
    assert re.findall(r'(?:src|href)="([^"]*)"', own) == ["data:,"]


def test_the_report_works_in_a_browser(browser, file, fitted):  # noqa: F811
    model, *_ = fitted
    with visit(browser, file, width=DESKTOP) as seen:
        page = seen.page
        assert page.title() == "A <b>title</b>"
        assert page.locator("#command").inner_text() == "garrote fit 'a<b>.csv'"
        assert HOSTILE in page.locator("#selected").inner_text()
        check_slider(page, model)
        check_sorting(page)
        hover_every_panel(page)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main a").count() == 0
        assert seen.errors == []
        assert seen.network_requests == []
        assert seen.overflow <= 0


def check_slider(page, model):
    """The slider moves the cursor, the dots and the reading of each panel."""
    panels = ["coefficients", "inclusion", "free-energy", "error"]

    def state():
        return {
            panel: (
                page.locator(f"#{panel} .shapelayer path").last.get_attribute("d"),
                page.locator(f"#{panel} .scatterlayer .trace:last-child .points path").first.get_attribute("transform"),
                page.locator(f"#{panel}-reading").inner_text(),
            )
            for panel in panels
        }

    before = state()
    slider = page.locator("#gamma")
    slider.evaluate("(element) => { element.value = 0; element.dispatchEvent(new Event('input')); }")
    after = state()
    for panel in panels:
        assert all(old != new for old, new in zip(before[panel], after[panel], strict=True)), panel
    assert page.locator("#inclusion-reading").inner_text() == f"{len(model.path_[0].selected)} above ½"
    assert float(page.locator("#gamma-value").inner_text().replace("−", "-")) == pytest.approx(
        model.path_[0].gamma, 1e-3
    )
    slider.press("ArrowRight")
    moved = float(page.locator("#gamma-value").inner_text().replace("−", "-"))
    assert moved == pytest.approx(model.path_[1].gamma, 1e-3)
    page.locator("#reset").click()
    assert state() == before


def check_sorting(page):
    """A click on a header sorts by its column, a second one turns the order round."""

    def column(k):
        return page.locator(f"#selected tbody td:nth-child({k})").all_inner_texts()

    page.locator("#selected th:nth-child(3) button").click()
    falling = [float(text.replace("−", "-")) for text in column(3)]
    assert falling == sorted(falling, reverse=True)
    assert page.locator("#selected th:nth-child(3)").get_attribute("aria-sort") == "descending"
    page.locator("#selected th:nth-child(3) button").click()
    assert [float(text.replace("−", "-")) for text in column(3)] == falling[::-1]
    page.locator("#selected th:nth-child(1) button").click()
    names = column(1)
    assert len(names) == len(falling)
    assert names.index("x9") < names.index("x10")  # by number, not by letter


def hover_every_panel(page):
    """Feature names appear when the pointer is over a curve, as text."""
    shown = set()
    for panel in ("coefficients", "inclusion"):
        page.locator(f"#{panel}").scroll_into_view_if_needed()
        box = page.locator(f"#{panel} .nsewdrag").first.bounding_box()
        for share in np.linspace(0.02, 0.98, 40):
            page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * share)
            page.wait_for_timeout(20)
            shown.update(page.locator(f"#{panel} .hoverlayer text").all_text_contents())
    assert any(text.startswith(HOSTILE) for text in shown), shown


def test_the_report_fits_a_phone(browser, file):  # noqa: F811
    with visit(browser, file, width=PHONE) as seen:
        assert seen.overflow <= 0
        widths = seen.page.locator("figure").evaluate_all("all => all.map((one) => one.getBoundingClientRect().width)")
        assert len(widths) == 4
        assert all(300 < width < PHONE for width in widths)
        assert seen.errors == []
