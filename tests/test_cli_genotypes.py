"""The command line with PLINK files: phenotypes and covariates joined by id, alleles checked before predicting."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from bed_reader import to_bed
from command_line import garrote

N_SAMPLES, N_VARIANTS = 80, 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """cohort.bed, with traits.txt and pcs.txt in other orders; and flipped.bed, with the alleles exchanged."""
    folder = tmp_path_factory.mktemp("genotypes")
    rng = np.random.default_rng(0)
    genotypes = rng.binomial(2, rng.uniform(0.2, 0.8, N_VARIANTS), (N_SAMPLES, N_VARIANTS)).astype(float)
    people = [f"i{k}" for k in range(N_SAMPLES)]
    alleles = {"allele_1": ["A"] * N_VARIANTS, "allele_2": ["C"] * N_VARIANTS}
    properties = {
        "fid": ["f"] * N_SAMPLES,
        "iid": people,
        "sid": [f"rs{j}" for j in range(N_VARIANTS)],
        "chromosome": np.repeat(["1", "2", "X"], N_VARIANTS // 3),
        "bp_position": np.arange(N_VARIANTS) * 100 + 5,
    }
    to_bed(folder / "cohort.bed", genotypes, properties=properties | alleles)
    flipped = {"allele_1": alleles["allele_2"], "allele_2": alleles["allele_1"]}
    to_bed(folder / "flipped.bed", 2 - genotypes, properties=properties | flipped)
    components = rng.standard_normal((N_SAMPLES, 2))
    height = genotypes[:, 7] - 1.2 * genotypes[:, 25] + components @ [2.0, 1.0] + 0.3 * rng.standard_normal(N_SAMPLES)
    rows = pd.DataFrame({"FID": "f", "IID": people, "height": height, "PC1": components[:, 0], "PC2": components[:, 1]})
    for name, columns in (("traits.txt", ["height"]), ("pcs.txt", ["PC1", "PC2"])):
        shuffled = rows.iloc[rng.permutation(N_SAMPLES)]
        shuffled[["FID", "IID", *columns]].to_csv(folder / name, sep=" ", index=False)
    rows.to_csv(folder / "truth.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    arguments = ["--pheno", "traits.txt", "--target", "height", "--covar", "pcs.txt", "--json", "--out", "fit"]
    return garrote("fit", "cohort.bed", *arguments, folder=folder)


def test_fit_finds_the_variants_and_reports_where_they_are(fitted, folder):
    assert fitted.returncode == 0, fitted.stderr
    assert {entry["feature"] for entry in json.loads(fitted.stdout)["selected"]} == {"rs7", "rs25", "PC1", "PC2"}
    table = pd.read_csv(folder / "fit" / "coefficients.csv", dtype=str).set_index("feature")
    assert table.loc["rs25", ["chromosome", "position", "counted", "other"]].tolist() == ["X", "2505", "A", "C"]
    assert table.loc["PC1", ["chromosome", "counted"]].isna().all()


def test_predictions_follow_the_samples(fitted, folder):
    run = garrote("predict", "fit", "cohort.bed", "--covar", "pcs.txt", "--json", folder=folder)
    height = pd.read_csv(folder / "truth.csv")["height"]
    assert np.corrcoef(json.loads(run.stdout)["prediction"], height)[0, 1] > 0.95


def test_covariates_are_asked_for(fitted, folder):
    run = garrote("predict", "fit", "cohort.bed", folder=folder)
    assert run.returncode == 2
    assert re.search(r"covariates PC1, PC2; .* --covar", run.stderr)


def test_exchanged_alleles_are_refused(fitted, folder):
    run = garrote("predict", "fit", "flipped.bed", "--covar", "pcs.txt", folder=folder)
    assert run.returncode == 1
    assert re.search(r"Error: .*alleles C/A .*not A/C", run.stderr)


def test_a_missing_phenotype_is_one_sentence(folder):
    run = garrote("fit", "cohort.bed", "--pheno", "traits.txt", "--target", "weight", folder=folder)
    assert run.returncode == 1
    assert re.search(r"Error: .*traits.txt has no column 'weight'", run.stderr)
