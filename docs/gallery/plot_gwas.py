"""
GWAS in ten lines
=================

Which variants of the genome affect a trait? Neighbouring variants are inherited together, so one cause makes a whole
block of them significant. This example simulates a small cohort with realistic linkage, writes it as PLINK files,
and compares single-marker regression, the Lasso and the Variational Garrote on the causal variants that they find.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from sklearn.linear_model import LassoCV

from garrote import VariationalGarrote
from garrote.datasets_genetics import simulate_cohort, simulate_trait
from garrote.signals import credible_signals
from garrote.sources import plink

# %%
# A simulated cohort
# ------------------
# 1000 people, six chromosomes of 100 000 base pairs each, and a trait with eight causal variants that together explain
# 40 % of its variance. Age and sex affect it too. The files are what a real study would begin with.

folder = tempfile.TemporaryDirectory()
prefix = Path(folder.name) / "cohort"
simulate_cohort(prefix, n_samples=1000, n_chromosomes=6, length=1e5, seed=4)

rng = np.random.default_rng(4)
everyone = plink.open(prefix)
trait, causal, effects = simulate_trait(everyone, 8, 0.4, rng)
age, sex = rng.uniform(30, 70, 1000), rng.integers(1, 3, 1000)
trait += 0.03 * age + 0.5 * sex

for name, header, columns in [("pheno", "FID IID trait", [trait]), ("covar", "FID IID age sex", [age, sex])]:
    rows = [" ".join([*person, *map(str, values)]) for person, *values in zip(everyone.samples, *columns, strict=True)]
    prefix.with_suffix(f".{name}").write_text("\n".join([header, *rows]))

# %%
# The ten lines
# -------------
# ``plink.open`` keeps the genotypes packed, four to a byte, and joins the files by sample id. What is counted is the
# allele A1, the first one in the .bim file. Covariates are always in the model. ``credible_signals`` gathers the
# neighbours of each selected variant, because which one of several near-duplicates is selected means little. γ is the
# log prior odds of a variant: here one cause is expected among all of them. (``VariationalGarroteCV`` would choose γ
# by cross-validation, for prediction.)

cohort = plink.open(prefix, pheno=f"{prefix}.pheno", covar=f"{prefix}.covar")
model = VariationalGarrote(gamma=-np.log(len(cohort.variants))).fit(cohort, cohort.y)
signals = credible_signals(model, cohort)

print(cohort)
print(dict(zip(cohort.covariate_names, model.unpenalized_coef_.round(3).tolist(), strict=True)))
print(signals.to_frame().round(2).to_string())

# %%
# Against single markers and the Lasso
# ------------------------------------
# Single-marker regression tests each variant alone, adjusted for the covariates, with Bonferroni's bound. LassoCV gets
# the genotypes and trait that the covariates leave. A causal variant counts as found when a method selects
# it or a variant whose correlation with it exceeds 0.9; a selected variant is false when it is linked so to no cause.

X, y, C = cohort.columns(np.arange(len(cohort.variants))), cohort.y, cohort.covariates
covariates = np.column_stack([np.ones(len(y)), C])
X_left, y_left = (values - covariates @ np.linalg.lstsq(covariates, values, rcond=None)[0] for values in (X, y))

r = (X_left.T @ y_left) / np.sqrt((X_left**2).sum(axis=0) * (y_left @ y_left))
freedom = len(y) - 2 - C.shape[1]
p_value = 2 * stats.t.sf(np.abs(r) * np.sqrt(freedom / (1 - r**2)), freedom)
standardised = X_left / X_left.std(axis=0)
alphas = np.abs(standardised.T @ y_left).max() / len(y) * np.geomspace(1.0, 0.05, 30)

selected = {
    "single markers": np.flatnonzero(p_value < 0.05 / len(p_value)),
    "Lasso": np.flatnonzero(LassoCV(cv=5, alphas=alphas).fit(standardised, y_left).coef_),
    "Variational Garrote": np.flatnonzero(model.inclusion_[: len(cohort.variants)] > 0.5),
}
linked = np.abs(np.corrcoef(X.T)) > 0.9
print(f"{'':20} {'selected':>8} {'found':>6} {'false':>6}")
for method, chosen in selected.items():
    found, false = linked[np.ix_(causal, chosen)].any(axis=1).sum(), (~linked[np.ix_(chosen, causal)].any(axis=1)).sum()
    print(f"{method:20} {len(chosen):8} {found:4}/{len(causal)} {false:6}")

# %%
# Single markers find everything, and with every cause a crowd of its neighbours that are significant for no reason of
# their own. The Lasso selects several variants for each cause and others besides. The Variational Garrote selects one
# variant for each cause that it finds and nothing else; causes that lie side by side can hide each other.

place = np.arange(len(cohort.variants))
shade = np.where(cohort.variants.chromosome.astype(int) % 2, "tab:blue", "tab:gray")
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 5), layout="constrained")
above.scatter(place, -np.log10(p_value), c=shade, s=6)
above.axhline(-np.log10(0.05 / len(p_value)), color="black", linewidth=0.8, linestyle="--")
above.set(ylabel="−log₁₀ p, one marker alone", title="Dotted lines: causal variants")
below.scatter(place, model.inclusion_[: len(place)], c=shade, s=6)
below.set(ylabel="inclusion", xlabel="variant, in the order of the genome", ylim=(-0.03, 1.08))
for axis in (above, below):
    for k in causal:
        axis.axvline(k, color="tab:red", linewidth=0.8, linestyle=":", zorder=0)
plt.show()

folder.cleanup()
