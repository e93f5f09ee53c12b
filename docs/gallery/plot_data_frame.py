"""
A data frame in a pipeline
==========================

Diabetes progression one year after baseline, from ten measurements and all their squares and products. The names of
the features go through the pipeline to the model.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from garrote import VariationalGarroteCV

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

# %%
# Standardising before the products makes them less correlated with the measurements themselves. The Variational
# Garrote does not need it: it is invariant to the scale of every column.
model = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), VariationalGarroteCV())
model.set_output(transform="pandas")
model.fit(X_train, y_train)

garrote = model[-1]
found = pd.DataFrame(
    {"inclusion": garrote.inclusion_, "coefficient": garrote.coef_}, index=garrote.feature_names_in_
).query("inclusion > 0.5")
print(found.sort_values("inclusion", ascending=False).round(3))
print(f"R² on unseen patients: {model.score(X_test, y_test):.3f}")

# %%
# Predictions carry a standard deviation: noise, and the doubt about which features are in.
mean, std = garrote.predict(model[:-1].transform(X_test), return_std=True)

fig, ax = plt.subplots(layout="constrained")
ax.errorbar(mean, y_test, xerr=std, fmt="o", ms=4, elinewidth=0.5, color="C0", ecolor="0.7")
ax.axline((150, 150), slope=1, color="0.4", lw=1)
ax.set(xlabel="predicted, ± one standard deviation", ylabel="observed progression")
print(f"{(abs(y_test - mean) < 2 * std).mean():.0%} of the patients lie within two standard deviations")
