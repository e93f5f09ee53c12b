"""PLINK files: what bed-reader reads, whatever the order of ids; and one clear sentence for files that do not fit."""

import shutil

import numpy as np
import pandas as pd
import pytest
from bed_reader import open_bed, to_bed
from numpy.testing import assert_allclose, assert_array_equal

from garrote import VariationalGarrote, VariationalGarroteCV, _plain_packed, garrote_path, threads
from garrote.datasets_genetics import simulate_cohort, simulate_trait
from garrote.sources import genotypes, plink

N_SAMPLES, N_VARIANTS = 203, 40  # the last byte of a variant holds three samples
CONSTANT = [3, 11, 12]


def ids(rows):
    return [(f"F{k // 2}", f"I{k}") for k in rows]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """PLINK files with missing calls and monomorphic variants, and a phenotype and covariates in other orders."""
    folder = tmp_path_factory.mktemp("plink")
    rng = np.random.default_rng(5)
    G = rng.binomial(2, rng.uniform(0.1, 0.9, N_VARIANTS), (N_SAMPLES, N_VARIANTS)).astype(float)
    G[rng.random(G.shape) < 0.05] = np.nan
    G[:, CONSTANT] = [0.0, 2.0, np.nan]
    G[5, 3] = np.nan
    family, individual = zip(*ids(range(N_SAMPLES)), strict=True)
    properties = {
        "fid": family,
        "iid": individual,
        "sid": [f"rs{k}" for k in range(N_VARIANTS)],
        "chromosome": ["1"] * 25 + ["X"] * 15,
        "bp_position": np.arange(N_VARIANTS) * 1000,
        "allele_1": ["A"] * N_VARIANTS,
        "allele_2": ["C"] * N_VARIANTS,
    }
    to_bed(folder / "cohort.bed", G, properties=properties)
    filled = np.where(np.isnan(G), np.nan_to_num(G).sum(axis=0) / np.maximum(1, (~np.isnan(G)).sum(axis=0)), G)
    age, sex = rng.normal(50, 10, N_SAMPLES), rng.integers(1, 3, N_SAMPLES)
    y = filled[:, 1] - filled[:, 20] + 0.1 * age + sex + 0.5 * rng.standard_normal(N_SAMPLES)
    order = rng.permutation(N_SAMPLES)
    table = pd.DataFrame({"FID": family, "IID": individual, "y": y, "age": age, "sex": sex}).iloc[order]
    table[["FID", "IID", "y"]].to_csv(folder / "y.pheno", sep="\t", index=False)
    table[["FID", "IID", "age", "sex"]].iloc[::-1].to_csv(folder / "c.covar", sep=" ", index=False)
    return folder, G, y, np.column_stack([age, sex])


def imputed(G):
    """What a cohort of these samples should be equal to: missing calls at the mean, constant variants left out."""
    with np.errstate(invalid="ignore"):
        filled = np.where(np.isnan(G), np.nansum(G, axis=0) / (~np.isnan(G)).sum(axis=0), G)
    return np.delete(filled, CONSTANT, axis=1)


# What is read


def test_genotypes_are_those_of_bed_reader(files):
    folder, G, *_ = files
    assert_array_equal(open_bed(folder / "cohort.bed").read(), G.astype(np.float32))
    cohort = plink.open(folder / "cohort")
    assert_allclose(cohort.columns(np.arange(cohort.shape[1])), imputed(G), rtol=1e-15)


def test_constant_variants_are_left_out_and_counted(files):
    cohort = plink.open(files[0] / "cohort")
    assert cohort.shape == (N_SAMPLES, N_VARIANTS - 3)
    assert cohort.n_monomorphic == 3
    assert "3 monomorphic" in repr(cohort)


def test_variants_say_what_is_counted_and_where(files):
    variants = plink.open(files[0] / "cohort.bed").variants
    assert_array_equal(variants.id[:5], ["rs0", "rs1", "rs2", "rs4", "rs5"])
    assert variants.chromosome[-1] == "X"
    assert_array_equal(variants.position[:4], [0, 1000, 2000, 4000])
    assert set(variants.counted) == {"A"}
    assert set(variants.other) == {"C"}
    assert list(variants.to_frame().columns) == ["id", "chromosome", "position", "counted", "other"]


@pytest.mark.parametrize("kernels", ["as installed", "plain"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_products_are_those_of_the_unpacked_matrix(files, kernels, in_memory, monkeypatch):
    if kernels == "plain":
        monkeypatch.setattr(genotypes, "transpose_dot", _plain_packed.transpose_dot)
        monkeypatch.setattr(genotypes, "add_columns", _plain_packed.add_columns)
    monkeypatch.setattr(genotypes, "SLAB_BYTES", 500)  # nine variants at a time
    folder, G, *_ = files
    rows = np.random.default_rng(0).integers(0, N_SAMPLES, 150)  # some samples twice
    X, cohort = imputed(G)[rows], plink.open(folder / "cohort", in_memory=in_memory).take(rows)
    rng = np.random.default_rng(1)
    r, weights, v = rng.standard_normal((150, 3)), rng.dirichlet(np.ones(150)), rng.standard_normal(20)
    some = rng.permutation(X.shape[1])[:20]
    assert_allclose(cohort.transpose_dot(r[:, 0]), X.T @ r[:, 0], atol=1e-12)
    assert_allclose(cohort.transpose_dot(r), X.T @ r, atol=1e-12)
    assert_allclose(cohort.dot(some, v), X[:, some] @ v, atol=1e-12)
    mean, variance = cohort.moments(weights)
    assert_allclose(mean, weights @ X, rtol=1e-12)
    assert_allclose(variance, weights @ (X - weights @ X) ** 2, rtol=1e-12)


@pytest.mark.parametrize("rows", [slice(0, 5), slice(37, 90), np.array([41, 38, 90, 41]), slice(7, 7)])
def test_columns_of_some_samples_are_those_rows_of_the_columns(files, rows):
    folder, G, *_ = files
    features = np.array([5, 0, 17])
    part = plink.open(folder / "cohort").take(rows).columns(features)
    assert part.flags.f_contiguous
    assert_array_equal(part, imputed(G)[rows][:, features])


def test_number_of_threads_does_not_change_a_bit(files, monkeypatch):
    monkeypatch.setattr(genotypes, "SLAB_BYTES", 500)
    cohort = plink.open(files[0] / "cohort")
    r, some = np.random.default_rng(1).standard_normal(N_SAMPLES), np.arange(30)
    results = []
    for n_threads in (1, 2, 5):
        token = threads._allowed.set(n_threads)
        results.append((cohort.transpose_dot(r), cohort.dot(some, r[:30])))
        threads._allowed.reset(token)
    for product, combination in results[1:]:
        assert_array_equal(product, results[0][0])
        assert_array_equal(combination, results[0][1])


def test_compiled_kernels_were_built():
    assert genotypes.transpose_dot.__module__ == "garrote._packed"


# Samples, phenotypes, covariates


def test_phenotype_and_covariates_are_joined_by_id(files):
    folder, _, y, C = files
    cohort = plink.open(folder / "cohort", pheno=folder / "y.pheno", covar=folder / "c.covar")
    assert_allclose(cohort.y, y, rtol=1e-12)
    assert cohort.covariate_names == ["age", "sex"]
    assert_allclose(cohort.columns(cohort.unpenalized), C, rtol=1e-12)


def test_samples_are_used_in_the_order_in_which_they_are_given(files, tmp_path):
    folder, G, y, _ = files
    rows = np.array([17, 3, 150, 4, 99, 2])
    (tmp_path / "keep").write_text("".join(f"{family} {individual}\n" for family, individual in ids(rows)))
    for samples in (ids(rows), [individual for _, individual in ids(rows)], tmp_path / "keep"):
        cohort = plink.open(folder / "cohort", pheno=folder / "y.pheno", samples=samples)
        assert_allclose(cohort.y, y[rows], rtol=1e-12)
        assert_array_equal(cohort.samples, ids(rows))
        column = int(np.flatnonzero(cohort.variants.id == "rs1")[0])
        called = G[rows, 1]
        assert_allclose(
            cohort.columns(np.array([column]))[:, 0], np.where(np.isnan(called), np.nanmean(called), called)
        )


def test_missing_values_leave_samples_out(files, tmp_path):
    folder, G, y, _ = files
    lines = [f"{family} {individual} {y[k]:.17g}" for k, (family, individual) in enumerate(ids(range(N_SAMPLES)))]
    lines[0], lines[7], lines[9] = "F0 I0 -9", "F3 I7 NA", "F4 I9 -9.0"
    del lines[20]  # not in the file at all
    (tmp_path / "y.txt").write_text("\n".join(reversed(lines)))
    cohort = plink.open(folder / "cohort", pheno=tmp_path / "y.txt")
    left = np.delete(np.arange(N_SAMPLES), [0, 7, 9, 20])
    assert cohort.n_without_values == 4
    assert_allclose(cohort.y, y[left])
    assert_allclose(cohort.columns(np.arange(cohort.shape[1])), imputed(G[left]), rtol=1e-14)


def test_plink_2_header_with_iid_alone(files, tmp_path):
    folder, _, y, _ = files
    (tmp_path / "y.txt").write_text("#IID\ty\n" + "".join(f"I{k}\t{y[k]:.17g}\n" for k in range(N_SAMPLES)))
    assert_allclose(plink.open(folder / "cohort", pheno=tmp_path / "y.txt").y, y)


def test_phenotype_of_a_data_frame(files):
    folder, _, y, _ = files
    frame = pd.DataFrame(ids(range(N_SAMPLES)), columns=["FID", "IID"]).assign(height=y, weight=-9)
    assert_array_equal(plink.open(folder / "cohort", pheno=frame, pheno_name="height").y, y)


def test_phenotype_of_the_fam_file(files, tmp_path):
    folder, *_ = files
    for suffix in (".bed", ".bim", ".fam"):
        shutil.copy(folder / f"cohort{suffix}", tmp_path)
    fam = [line.split() for line in (tmp_path / "cohort.fam").read_text().splitlines()]
    (tmp_path / "cohort.fam").write_text("".join(f"{' '.join(row[:5])} {k}.5\n" for k, row in enumerate(fam)))
    assert_allclose(plink.open(tmp_path / "cohort").y, np.arange(N_SAMPLES) + 0.5)
    (tmp_path / "cohort.fam").write_text("".join(f"{' '.join(row[:5])} -9\n" for row in fam))
    assert plink.open(tmp_path / "cohort").y is None


def test_unnamed_variants_are_named_after_their_place(files, tmp_path):
    folder, *_ = files
    for suffix in (".bed", ".bim", ".fam"):
        shutil.copy(folder / f"cohort{suffix}", tmp_path)
    bim = (tmp_path / "cohort.bim").read_text().replace("rs0\t", ".\t").replace("rs1\t", ".\t")
    (tmp_path / "cohort.bim").write_text(bim)
    assert_array_equal(plink.open(tmp_path / "cohort").variants.id[:3], ["1:0:A:C", "1:1000:A:C", "rs2"])


# Fits


def test_covariates_of_a_cohort_are_always_in_the_model(files):
    folder, G, y, C = files
    cohort = plink.open(folder / "cohort", pheno=folder / "y.pheno", covar=folder / "c.covar")
    path, dense = garrote_path(cohort, cohort.y, gammas=8), garrote_path(imputed(G), y, gammas=8, unpenalized=C)
    assert_allclose(path.coefs.toarray(), dense.coefs.toarray(), atol=1e-8)
    model = VariationalGarroteCV(8, ridges=[0.0], cv=3).fit(cohort, cohort.y)
    assert_array_equal(model.inclusion_[cohort.unpenalized], 1.0)
    assert_allclose(model.unpenalized_coef_, [0.1, 1.0], atol=0.2)
    assert set(cohort.variants.id[np.flatnonzero(model.inclusion_[: len(cohort.variants)] > 0.5)]) == {"rs1", "rs20"}
    assert_array_equal(model.feature_names_in_, [*cohort.variants.id, "age", "sex"])
    dense_model = VariationalGarroteCV(8, ridges=[0.0], cv=3).fit(imputed(G), y, unpenalized=C)
    assert_allclose(model.predict(cohort), dense_model.predict(imputed(G), unpenalized=C), rtol=1e-8)


def test_prediction_for_another_cohort_needs_the_same_variants(files):
    folder, _, y, _ = files
    half = ids(range(100))
    train = plink.open(folder / "cohort", pheno=folder / "y.pheno", samples=half)
    others = plink.open(folder / "cohort", samples=ids(range(100, 203)), variants=train.variants)
    model = VariationalGarrote(-8.0).fit(train, train.y)
    assert np.corrcoef(model.predict(others), y[100:])[0, 1] > 0.5
    in_other_order = plink.open(folder / "cohort", variants=train.variants.id[::-1])
    with pytest.raises(ValueError, match=r"'rs39' in column 0.*'rs0'"):
        model.predict(in_other_order)


def test_simulated_cohort_has_its_signal_found(tmp_path):
    n = simulate_cohort(tmp_path / "small", n_samples=300, n_chromosomes=2, length=2e5, seed=3)
    cohort = plink.open(tmp_path / "small")
    assert cohort.shape == (300, n)
    y, causal, effects = simulate_trait(cohort, 2, 0.7, np.random.default_rng(0))
    assert_allclose(np.var(y), 1.0, atol=0.25)
    linked = np.abs(np.corrcoef(cohort.columns(np.append(garrote_path(cohort, y)[-1].selected, causal)).T))
    assert (linked[-2:, :-2].max(axis=1) > 0.9).all()
    assert_allclose(np.abs(effects) * cohort.columns(causal).std(axis=0), np.sqrt(0.35))


# Files that do not fit


@pytest.fixture
def copied(files, tmp_path):
    """A copy of the PLINK files that a test may spoil."""
    for suffix in (".bed", ".bim", ".fam"):
        shutil.copy(files[0] / f"cohort{suffix}", tmp_path)
    return tmp_path / "cohort"


def rewrite(path, change):
    """Change the bytes of a file."""
    path.write_bytes(change(path.read_bytes()))


def first_line_twice(content):
    return content[: content.index(b"\n") + 1] + content


def first_id_twice(content):
    lines = content.splitlines(keepends=True)
    return b"".join([lines[0], lines[0], *lines[2:]])


SPOILED = {
    "truncated": (".bed", lambda content: content[:-7], "truncated"),
    "empty .bed": (".bed", lambda content: b"", "6c 1b"),
    "wrong magic": (".bed", lambda content: b"PK\x03" + content[3:], "6c 1b"),
    "sample by sample": (".bed", lambda content: content[:2] + b"\x00" + content[3:], "--make-bed"),
    "unknown mode": (".bed", lambda content: content[:2] + b"\x07" + content[3:], "0x07"),
    "long .bim": (".bim", lambda content: content + content.replace(b"rs", b"new"), "truncated.*belong together"),
    "short .bim": (".bim", lambda content: content[: content.index(b"rs9")].rsplit(b"\n", 1)[0] + b"\n", "too long"),
    "short .fam": (".fam", lambda content: content[: content.index(b"F50")], "belong together"),
    "empty .fam": (".fam", lambda content: b"", "cohort.fam is empty"),
    "ragged .fam": (".fam", lambda content: content.replace(b"I7 ", b"I7 x ", 1).replace(b"I7\t", b"I7\tx\t", 1), "I7"),
    "same sample twice": (".fam", first_id_twice, "'F0 I0' twice"),
    "same variant twice": (".bim", first_id_twice, "'rs0' twice"),
    "text in .bim": (".bim", lambda content: content.replace(b"\t1000\t", b"\there\t"), "cohort.bim cannot be read"),
}


@pytest.mark.parametrize("problem", SPOILED)
def test_files_that_do_not_fit_are_refused(problem, copied):
    suffix, change, match = SPOILED[problem]
    rewrite(copied.with_suffix(suffix), change)
    with pytest.raises(ValueError, match=match) as caught:
        plink.open(copied)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".bed", ".bim", ".fam"])
def test_a_file_that_is_not_there_is_named(suffix, copied):
    copied.with_suffix(suffix).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        plink.open(copied)
    assert str(caught.value.filename).endswith(f"cohort{suffix}")


PHENOTYPES = {
    "all missing": ("FID IID y\nF0 I0 -9\nF0 I1 NA\n", "no phenotype y.*2 of its 2 ids"),
    "other ids": ("FID IID y\nA a 1\nB b 2\n", "no phenotype y.*0 of its 2 ids"),
    "same id twice": ("FID IID y\nF0 I0 1\nF0 I0 2\n", "'F0 I0' twice"),
    "text": ("FID IID y\nF0 I0 tall\n", "'tall' in column y of sample F0 I0"),
    "ragged": ("FID IID y\nF0 I0 1\nF0 I1\n", "2 values for sample 2"),
    "empty": ("\n", "is empty"),
    "several": ("FID IID y z\nF0 I0 1 2\n", "2 phenotypes.*pheno_name"),
    "no value": ("FID IID\nF0 I0\n", "0 phenotypes|no phenotype"),
}


@pytest.mark.parametrize("problem", PHENOTYPES)
def test_bad_phenotypes_are_refused(problem, files, tmp_path):
    text, match = PHENOTYPES[problem]
    (tmp_path / "y.txt").write_text(text)
    with pytest.raises(ValueError, match=match):
        plink.open(files[0] / "cohort", pheno=tmp_path / "y.txt")


def test_other_bad_arguments_are_refused(files, tmp_path):
    prefix = files[0] / "cohort"
    for match, arguments in (
        ("samples has 1 ids.*'F9 nobody'", {"samples": [("F0", "I0"), ("F9", "nobody")]}),
        ("'F0 I0' twice", {"samples": [("F0", "I0"), ("F0", "I0")]}),
        ("samples is empty", {"samples": []}),
        ("variants has 1 ids.*'rs99'", {"variants": ["rs0", "rs99"]}),
        ("no column 'height'", {"pheno": files[0] / "y.pheno", "pheno_name": "height"}),
        ("no column 'weight'", {"covar": files[0] / "c.covar", "covar_names": ["weight"]}),
        ("no variant that varies", {"samples": [("F0", "I0")]}),
    ):
        with pytest.raises(ValueError, match=match):
            plink.open(prefix, **arguments)
    (tmp_path / "c.txt").write_text("FID IID age\nF0 I0 -9\n")
    with pytest.raises(ValueError, match="no value of age"):
        plink.open(prefix, covar=tmp_path / "c.txt")
    swapped = plink.open(prefix).variants
    swapped = plink.Variants(swapped.id, swapped.chromosome, swapped.position, swapped.other, swapped.counted)
    with pytest.raises(ValueError, match=r"A/C for rs0, not C/A .*--a1-allele"):
        plink.open(prefix, variants=swapped)
