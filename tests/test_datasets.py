"""The generators of the paper's data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from garrote.datasets import (
    consistency_a,
    consistency_b,
    correlated_inputs,
    example1,
    example2,
    l1_error,
    outputs,
    random_support,
    sparse_regression,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("example", [example1, example2])
def test_examples_have_the_sizes_of_the_paper(example, rng):
    train, validation, test, coef = example(rng)
    assert train.X.shape == (50, 100)
    assert validation.X.shape == (50, 100)
    assert test.X.shape == (400, 100)
    assert [len(part.y) for part in (train, validation, test)] == [50, 50, 400]
    assert coef.shape == (100,)


@pytest.mark.parametrize(("example", "support"), [(example1, [0]), (example2, [0, 1, 4, 9, 49])])
def test_examples_have_the_weights_of_the_paper(example, support, rng):
    coef = example(rng).coef
    assert_array_equal(np.flatnonzero(coef), support)
    assert_array_equal(coef[support], np.ones(len(support)))


@pytest.mark.parametrize("example", [example1, example2])
def test_examples_centre_all_inputs_and_scale_those_for_training(example, rng):
    train, validation, test, _ = example(rng)
    for part in (train, validation, test):
        assert_allclose(part.X.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(train.X.std(axis=0), 1.0)
    for part in (validation, test):
        assert not np.allclose(part.X.std(axis=0), 1.0, atol=1e-3)


@pytest.mark.parametrize("example", [example1, example2])
def test_examples_have_unit_noise(example, rng):
    residuals = [part.y - part.X @ data.coef for data in (example(rng) for _ in range(20)) for part in data[:3]]
    variance = np.var(np.concatenate(residuals))  # of 10,000 draws: its standard error is 0.014
    assert abs(variance - 1.0) < 0.06


def test_example_1_has_independent_inputs_and_example_2_correlated_ones(rng):
    def neighbours(X):
        return np.mean([np.corrcoef(X[:, j], X[:, j + 1])[0, 1] for j in range(99)])

    assert abs(neighbours(example1(rng).test.X)) < 0.03
    assert abs(neighbours(example2(rng).test.X) - 0.5) < 0.03


def test_merged_is_training_and_validation_data(rng):
    data = example1(rng)
    assert_array_equal(data.merged.X, np.concatenate([data.train.X, data.validation.X]))
    assert_array_equal(data.merged.y, np.concatenate([data.train.y, data.validation.y]))


@pytest.mark.parametrize(
    "generate",
    [
        lambda rng: example1(rng).test,
        lambda rng: example2(rng).test,
        lambda rng: sparse_regression(30, 10, 3, zeta=0.9, rng=rng),
        consistency_a,
        consistency_b,
    ],
    ids=["example 1", "example 2", "sparse regression", "consistency a", "consistency b"],
)
def test_seed_decides_everything(generate):
    first, again, other = (generate(np.random.default_rng(seed)) for seed in (1, 1, 2))
    for one, same in zip(first, again, strict=True):
        assert_array_equal(one, same)
    assert not np.array_equal(first[0], other[0])


def test_one_generator_gives_a_new_instance_each_time(rng):
    assert not np.array_equal(example1(rng).train.X, example1(rng).train.X)


@pytest.mark.parametrize("zeta", [-0.6, 0.0, 0.5, 0.95])
def test_covariance_falls_off_as_a_power_of_the_distance(zeta, rng):
    n_samples, n_features = 20_000, 6
    covariance = np.cov(correlated_inputs(n_samples, n_features, zeta, rng).T)
    distance = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    # an entry's standard error is at most √(2/n_samples)
    assert_allclose(covariance, np.power(zeta, distance), atol=5 * np.sqrt(2 / n_samples))


@pytest.mark.parametrize("zeta", [1.0, -1.0, 1.5, np.nan])
def test_impossible_correlation_is_refused(zeta, rng):
    with pytest.raises(ValueError, match=r"zeta.*between −1 and 1"):
        correlated_inputs(10, 3, zeta, rng)


def test_support_is_random_and_of_the_given_size(rng):
    first, second = random_support(1000, 20, rng), random_support(1000, 20, rng)
    assert_array_equal(np.unique(first, return_counts=True), [[0.0, 1.0], [980, 20]])
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("n_nonzero", [-1, 11])
def test_impossible_support_is_refused(n_nonzero, rng):
    with pytest.raises(ValueError, match=r"n_nonzero.*between 0 and n_features"):
        random_support(10, n_nonzero, rng)


def test_outputs_are_linear_in_the_inputs_without_noise(rng):
    X = rng.standard_normal((10, 3))
    assert_allclose(outputs(X, np.array([1.0, 0.0, -2.0]), 0.0, rng), X[:, 0] - 2 * X[:, 2])


def test_sigma_is_the_standard_deviation_of_the_noise(rng):
    X, y, coef = sparse_regression(20_000, 5, 2, sigma=3.0, rng=rng)
    assert abs(np.std(y - X @ coef) - 3.0) < 0.1


def test_l1_error_sums_absolute_differences():
    assert l1_error(np.array([1.0, -2.0, 0.5]), np.array([0.0, 2.0, 0.5])) == 5.0


# Zhao & Yu's irrepresentable condition |χ_{3,S} χ_{S,S}⁻¹ sign(w_S)| < 1 decides whether the Lasso is consistent.


def population_covariance():
    """Of x₁ and x₂ independent and x₃ = ⅔x₁ + ⅔x₂ + ⅓ξ, all standard normal."""
    from_independent = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2 / 3, 2 / 3, 1 / 3]])
    return from_independent @ from_independent.T


def irrepresentable(covariance, coef):
    """The left-hand side of the condition."""
    support, off = np.flatnonzero(coef), np.flatnonzero(coef == 0)
    cross = covariance[np.ix_(off, support)]
    return np.abs(cross @ np.linalg.solve(covariance[np.ix_(support, support)], np.sign(coef[support]))).max()


@pytest.mark.parametrize(("example", "weights"), [(consistency_a, [2, 3, 0]), (consistency_b, [-2, 3, 0])])
def test_consistency_examples_have_the_weights_of_zhao_and_yu(example, weights, rng):
    X, y, coef = example(rng)
    assert X.shape == (1000, 3)
    assert_array_equal(coef, weights)
    assert abs(np.std(y - X @ coef) - 1.0) < 0.1


@pytest.mark.parametrize("example", [consistency_a, consistency_b])
def test_consistency_examples_have_the_covariance_of_zhao_and_yu(example, rng):
    covariance = np.cov(example(rng, n_samples=50_000)[0].T)
    assert_allclose(covariance, population_covariance(), atol=5 * np.sqrt(2 / 50_000))


def test_example_a_violates_the_condition_of_the_lasso(rng):
    assert_allclose(irrepresentable(population_covariance(), consistency_a(rng)[2]), 4 / 3)


def test_example_b_fulfils_the_condition_of_the_lasso(rng):
    assert_allclose(irrepresentable(population_covariance(), consistency_b(rng)[2]), 0.0, atol=1e-15)


def test_the_samples_show_the_same_verdict(rng):
    X, _, coef = consistency_a(rng)
    assert irrepresentable(np.cov(X.T), coef) > 1
    X, _, coef = consistency_b(rng)
    assert irrepresentable(np.cov(X.T), coef) < 1
