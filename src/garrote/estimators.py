"""The scikit-learn estimators. No mathematics here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from garrote.arrays import Array, Index, Split
from garrote.base import LinearModel, all_at_once
from garrote.checks import check_gammas, check_number, check_ridges
from garrote.covariates import beside, find_covariates
from garrote.design import as_design, is_dask
from garrote.path import Path, default_gammas, trace, wide_gammas
from garrote.problem import Problem, Samples, as_problem
from garrote.restarts import check_restarts
from garrote.select import choose, validation_errors
from garrote.summary import Described
from garrote.threads import one_blas_thread
from garrote.workingset import Model

#: Relative slab precisions that VariationalGarroteCV tries.
RIDGES = (0.0, 0.1, 0.3)


class _Garrote(Described, LinearModel):
    """Attributes and predictions of a fitted Variational Garrote."""

    path_: Path
    x_mean_: Array
    inclusion_: Array
    slab_coef_: Array
    unpenalized_coef_: Array
    beta_: float

    def _find_covariates(self, unpenalized: Any, X: Any) -> tuple[Any, Index]:
        return find_covariates(unpenalized, X, getattr(self, "feature_names_in_", None))

    def _take_solution(self, problem: Problem, index: int) -> None:
        """Make the fitted attributes from one solution of ``path_``; covariates beside X are its last features."""
        solution = self.path_[index]
        self.gamma_ = solution.gamma
        self.beta_ = solution.beta
        self.free_energy_ = solution.free_energy
        self.inclusion_ = solution.m[: self.n_features_in_]
        self.slab_coef_ = solution.w[: self.n_features_in_]
        self.coef_ = solution.v[: self.n_features_in_]
        self.unpenalized_coef_ = solution.v[problem.unpenalized]
        self.x_mean_ = problem.x_mean[: self.n_features_in_]
        self._n_beside = problem.n_features - self.n_features_in_
        self.intercept_ = problem.intercept(solution.features, solution.inclusion * solution.slab)
        self.n_iter_ = self.path_.n_iter
        self.n_samples_, self.y_variance_ = problem.n_samples, problem.sigma2_y

    def _check_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        """As for every linear model; but a dask collection stays where it is, and its y with it."""
        if not is_dask(X):
            return super()._check_data(X, y)
        design = as_design(X)
        _check_feature_names(self, X._meta, reset=True)
        self.n_features_in_ = design.shape[1]
        return design, y

    def _columns(self, X: Any, features: Index) -> Any:
        """Some columns of inputs to predict for; those of a dask collection stay lazy."""
        if not is_dask(X):
            return self._check_inputs(X).columns(features)
        from garrote.sources.dask_arrays import lazy_columns

        _check_feature_names(self, X._meta, reset=False)
        return lazy_columns(X, features, self.n_features_in_)

    def predict(self, X: Any, return_std: bool = False, unpenalized: Any = None) -> Any:
        """The expected response; with ``return_std`` also its predictive standard deviation.

        Of a dask array or DataFrame they are dask arrays, computed when they are asked for.

        The variance is 1/β + Σ m_i (1 − m_i) w_i² (x_i − x̄_i)²: noise, and doubt about which features are in the model,
        each feature for itself. The errors of w, of the intercept and of β are not in it, since VG estimates these by
        one value each: with few samples the interval is too narrow.
        A model that was fitted with covariates beside X needs theirs, ``unpenalized``, for these samples too.
        """
        if hasattr(self, "fit"):  # a model from a file is fitted
            check_is_fitted(self)
        used = np.flatnonzero(self.coef_)
        columns = self._columns(X, used)
        mean = columns @ self.coef_[used] + self.intercept_ + self._covariate_part(X, unpenalized)
        if not return_std:
            return mean
        doubt = (np.sqrt(self.inclusion_ * (1.0 - self.inclusion_)) * self.slab_coef_)[used]
        return mean, np.sqrt(1.0 / self.beta_ + (((columns - self.x_mean_[used]) * doubt) ** 2).sum(axis=1))

    def _covariate_part(self, X: Any, unpenalized: Any) -> Any:
        """What covariates beside X contribute to a prediction."""
        given = 0 if unpenalized is None else np.atleast_2d(unpenalized).shape[1]
        if given != self._n_beside:
            raise ValueError(
                f"unpenalized has {given} covariates, but {type(self).__name__} was fitted with {self._n_beside} "
                "beside X; give the same ones to predict."
            )
        if not given:
            return 0.0
        design = as_design(X) if is_dask(X) else self._check_inputs(X)
        return beside(design, unpenalized).right.columns(np.arange(given)) @ self.unpenalized_coef_


class VariationalGarrote(_Garrote):
    """Sparse linear regression by the Variational Garrote, at a given sparsity γ.

    Every feature i carries a probability m_i that it belongs to the model, and a coefficient w_i that it has if it
    does. The prediction is Σ m_i w_i x_i. γ is approached from below over the path, which avoids most local minima.

    Parameters
    ----------
    gamma : log prior odds that a feature belongs to the model; more negative = sparser
    ridge : relative precision λ of a Gaussian prior on w; 0 is the paper's flat prior
    prior_log_odds : added to γ, one number per feature, for those who know more about some features than others
    fit_intercept : whether to fit an intercept
    n_restarts, random_state : random starts at each γ of the path, and what draws them, as in
        :func:`~garrote.garrote_path`

    Attributes
    ----------
    inclusion_, slab_coef_, coef_ : m, w and v = m·w, one of each per feature
    intercept_ : ȳ − x̄·v
    unpenalized_coef_ : the coefficients of the covariates that were given to ``fit``, in their order
    beta_ : inverse noise variance
    gamma_, free_energy_ : γ and the free energy F of the solution
    n_samples_, y_variance_ : what it was fitted to: the number of samples and the variance of y
    path_ : the :class:`~garrote.path.Path` that led to it
    n_iter_ : descent steps on that path
    """

    def __init__(
        self,
        gamma: float = -10.0,
        *,
        ridge: float = 0.0,
        prior_log_odds: Any = None,
        fit_intercept: bool = True,
        n_restarts: int = 0,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.ridge = ridge
        self.prior_log_odds = prior_log_odds
        self.fit_intercept = fit_intercept
        self.n_restarts = n_restarts
        self.random_state = random_state

    @all_at_once
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, unpenalized: Any = None) -> VariationalGarrote:
        """Fit to inputs X and outputs y; or to :class:`~garrote.moments.Moments` as X, without y.

        ``unpenalized`` are covariates that are always in the model: columns of X by name or number, whose inclusion is
        then 1; or a matrix beside X with a row for each sample. A Design may name its own.
        """
        problem = self._problem(X, y, sample_weight, unpenalized)
        gamma = check_number("gamma", self.gamma)
        model = Model(problem.check_log_odds(self.prior_log_odds), check_number("ridge", self.ridge, least=0.0))
        grid = default_gammas(problem, 50, model.prior_log_odds)
        restarts = check_restarts(self.n_restarts, self.random_state)
        self.path_ = trace(problem, np.append(grid[grid < gamma], gamma), model, whole_grid=True, restarts=restarts)
        self._take_solution(problem, -1)
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any, unpenalized: Any) -> Problem:
        if isinstance(X, Problem):
            self.n_features_in_ = X.n_features
        else:
            X, y = self._check_data(X, y)
            X, unpenalized = self._find_covariates(unpenalized, X)
        return as_problem(X, y, sample_weight, fit_intercept=self.fit_intercept, unpenalized=unpenalized)


class VariationalGarroteCV(_Garrote):
    """Sparse linear regression by the Variational Garrote, with γ and λ chosen by cross-validation.

    By default five folds choose the sparsity γ and the shrinkage λ together, and the model is then fitted to all
    samples. For the paper's protocol, one training and one validation part without a refit, pass
    ``cv=PredefinedSplit(...)`` with a single split, ``refit=False`` and ``ridges=[0]``.

    Parameters
    ----------
    gammas : how many γ the default grid has, or the grid itself (strictly ascending)
    ridges : the λ to choose from; 0 is the paper's flat prior
    cv : folds, as everywhere in scikit-learn: None (five), a number, a splitter or an iterable of splits
    refit : whether to fit to all samples in the end; False needs a single split and keeps the fit to its training part
    one_standard_error : take the sparsest γ whose error is within one standard error of the least, not only a quarter
    prior_log_odds : added to γ, one number per feature
    fit_intercept : whether to fit an intercept
    n_jobs : folds fitted in parallel, through joblib
    n_restarts, random_state : random starts at each γ of every path, and what draws them, as in
        :func:`~garrote.garrote_path`

    Attributes
    ----------
    gamma_, ridge_ : the chosen γ and λ
    gammas_, ridges_ : the grids
    mse_path_ : validation errors, n_ridges × n_gammas × n_folds; NaN where a path had already stopped
    path_ : the :class:`~garrote.path.Path` at the chosen λ; and all attributes of :class:`VariationalGarrote`
    """

    def __init__(
        self,
        gammas: Any = 50,
        *,
        ridges: Any = RIDGES,
        cv: Any = None,
        refit: bool = True,
        one_standard_error: bool = False,
        prior_log_odds: Any = None,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        n_restarts: int = 0,
        random_state: Any = None,
    ) -> None:
        self.gammas = gammas
        self.ridges = ridges
        self.cv = cv
        self.refit = refit
        self.one_standard_error = one_standard_error
        self.prior_log_odds = prior_log_odds
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.n_restarts = n_restarts
        self.random_state = random_state

    @all_at_once
    @one_blas_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, unpenalized: Any = None) -> VariationalGarroteCV:
        """Choose γ and λ by cross-validation, and fit; ``unpenalized`` as in :meth:`VariationalGarrote.fit`."""
        if isinstance(X, Problem):
            raise TypeError(
                f"X is {type(X).__name__}, which cannot be split into folds; pass samples, or use VariationalGarrote."
            )
        X, y = self._check_data(X, y)
        splits: Sequence[Split] = list(check_cv(self.cv).split(np.empty(X.shape[0]), y))  # a Design is no array
        X, always = self._find_covariates(unpenalized, X)
        X, y, sample_weight, splits = as_design(X).condensed(y, sample_weight, splits)
        samples = Samples(X, y, sample_weight, fit_intercept=self.fit_intercept, unpenalized=always)
        if not splits or not all(
            samples.weights[np.asarray(part, dtype=np.intp)].any() for split in splits for part in split
        ):
            raise ValueError(
                "cv makes no split, or one whose training or validation part has no samples of positive weight; "
                "pass another cv, such as KFold(5, shuffle=True)."
            )
        if not self.refit and len(splits) != 1:
            raise ValueError(
                f"refit=False needs a single split, but cv makes {len(splits)}; pass a PredefinedSplit or refit."
            )
        odds = samples.check_log_odds(self.prior_log_odds)
        restarts = check_restarts(self.n_restarts, self.random_state)
        given = np.ndim(self.gammas) > 0
        self.ridges_ = check_ridges(self.ridges)
        self.gammas_ = check_gammas(self.gammas) if given else wide_gammas(samples, self.gammas, odds)
        with parallel_config("sequential") if samples.design.remote else nullcontext():
            self.mse_path_, paths = validation_errors(
                samples,
                splits,
                self.gammas_,
                self.ridges_,
                odds,
                whole_grid=given,
                n_jobs=self.n_jobs,
                restarts=restarts,
            )
        best = choose(self.mse_path_, one_standard_error=self.one_standard_error)
        self.ridge_ = float(self.ridges_[best.ridge])
        problem = samples
        if self.refit:
            model = Model(odds, self.ridge_)
            self.path_ = trace(samples, self.gammas_, model, whole_grid=given, restarts=restarts)
            if len(self.path_) <= best.gamma:  # the folds went further than all samples together do
                grid = self.gammas_[: best.gamma + 1]
                self.path_ = trace(samples, grid, model, whole_grid=True, restarts=restarts)
        else:
            self.path_ = paths[0][best.ridge]
            problem = samples.take(splits[0][0])
        self._take_solution(problem, best.gamma)
        return self
