"""The front door: every format gives the same X and y, and a bad file is refused in one sentence."""

import gzip
import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import zarr
from bed_reader import to_bed
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from garrote import VariationalGarroteCV
from garrote.sources import array_files, read, tables

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (30, 4)).astype(float)
Y = X @ [1.5, 0.0, -1.0, 0.0] + 0.1 * RNG.standard_normal(30)
NAMES = ["age", "dose", "height", "weight"]
FRAME = pd.DataFrame(X, columns=NAMES).assign(outcome=Y)
TOGETHER = np.column_stack([X, Y])

WRITERS = {
    "a.csv": lambda path: FRAME.to_csv(path, index=False),
    "semicolons.csv": lambda path: FRAME.to_csv(path, index=False, sep=";"),
    "byte-order mark.csv": lambda path: FRAME.to_csv(path, index=False, encoding="utf-8-sig"),
    "a.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "a.csv.gz": lambda path: FRAME.to_csv(path, index=False),
    "A.TSV.XZ": lambda path: FRAME.to_csv(path, index=False, sep="\t", compression="xz"),
    "a.parquet": lambda path: FRAME.to_parquet(path),
    "a.feather": lambda path: FRAME.to_feather(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_tables_give_named_inputs_and_outputs(name, tmp_path):
    WRITERS[name](tmp_path / name)
    table = read(tmp_path / name, target="outcome")
    assert table.names == NAMES
    assert list(table.X.columns) == NAMES
    assert_allclose(table.X.to_numpy(), X)
    assert_allclose(table.y, Y)
    assert table.ignored == ()


def test_without_target_everything_is_input(tmp_path):
    WRITERS["a.csv"](tmp_path / "a.csv")
    table = read(str(tmp_path / "a.csv"))
    assert table.y is None
    assert table.names == [*NAMES, "outcome"]


def test_what_is_read_can_be_fitted(tmp_path):
    WRITERS["a.parquet"](tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", target="outcome")
    model = VariationalGarroteCV(5, ridges=[0.0], cv=3).fit(table.X, table.y)
    assert_array_equal(model.feature_names_in_, NAMES)


def test_row_labels_and_empty_columns_are_ignored(tmp_path):
    FRAME.to_csv(tmp_path / "labels.csv")
    assert read(tmp_path / "labels.csv", "outcome").names == NAMES
    assert len(read(tmp_path / "labels.csv", "outcome").ignored) == 1
    lines = FRAME.to_csv(index=False).splitlines()
    (tmp_path / "trailing.csv").write_text("\n".join(line + "," for line in lines))
    assert read(tmp_path / "trailing.csv", "outcome").names == NAMES
    (tmp_path / "as R writes.csv").write_text("\n".join([lines[0], *(f"row,{line}" for line in lines[1:])]))
    table = read(tmp_path / "as R writes.csv", "outcome")
    assert table.names == NAMES
    assert_allclose(table.y, Y)


def test_columns_are_chosen_and_dropped(tmp_path):
    FRAME.assign(town="Utrecht").to_csv(tmp_path / "a.csv", index=False)
    dropped = read(tmp_path / "a.csv", "outcome", drop=["town", "age"])
    assert dropped.names == NAMES[1:]
    assert dropped.ignored == ("age", "town")
    chosen = read(tmp_path / "a.csv", "outcome", columns=["weight", "dose"])
    assert chosen.names == ["weight", "dose"]
    assert_allclose(chosen.X.to_numpy(), X[:, [3, 1]])


def test_covariates_are_columns_of_the_inputs(tmp_path):
    WRITERS["a.csv"](tmp_path / "a.csv")
    table = read(tmp_path / "a.csv", "outcome", covariates=["age"])
    assert table.covariates == ["age"]
    assert table.names == NAMES
    assert read(tmp_path / "a.csv", "outcome", covariates="age", columns=["dose"]).names == ["dose", "age"]


def test_truth_values_and_nullable_numbers_become_plain_numbers(tmp_path):
    frame = FRAME.assign(smokes=X[:, 0] > 1, age=FRAME["age"].astype("Int64"))
    frame.to_parquet(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", "outcome")
    assert all(isinstance(dtype, np.dtype) and dtype.kind in "if" for dtype in table.X.dtypes)
    assert_array_equal(table.X["smokes"], X[:, 0] > 1)
    assert_array_equal(table.X["age"], X[:, 0])


# Arrays


def saved(folder, name):
    """One of the array formats, with the outputs in the last column or beside X; and its target."""
    path = folder / name
    if name == "a.npy":
        np.save(path, TOGETHER)
    elif name == "arrays.npz":
        np.savez(path, X=X, y=Y, rest=Y)
        return path, "y"
    elif name == "sparse.npz":
        sparse.save_npz(path, sparse.coo_array(TOGETHER))
    elif name == "array.zarr":
        zarr.save_array(path, TOGETHER)
    else:
        zarr.save_group(path, X=X, y=Y)
        return path, "y"
    return path, "-1"


FORMATS = ["a.npy", "arrays.npz", "sparse.npz", "array.zarr", "group.zarr"]


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("name", FORMATS)
def test_arrays_give_inputs_and_outputs(name, tmp_path):
    table = read(*saved(tmp_path, name))
    assert_allclose(dense(table.X), X)
    assert_allclose(table.y, Y)
    assert table.names == []
    assert table.ignored == (("rest",) if name == "arrays.npz" else ())


@pytest.mark.parametrize("name", FORMATS)
def test_arrays_without_target_are_inputs(name, tmp_path):
    table = read(saved(tmp_path, name)[0])
    assert table.y is None
    assert_allclose(dense(table.X), X if name in ("arrays.npz", "group.zarr") else TOGETHER)


@pytest.mark.parametrize("name", ["a.npy", "sparse.npz", "array.zarr"])
@pytest.mark.parametrize("column", ["0", "2", "-2"])
def test_any_column_can_be_the_target(name, column, tmp_path):
    table = read(saved(tmp_path, name)[0], column)
    assert_allclose(table.y, TOGETHER[:, int(column)])
    assert_allclose(dense(table.X), np.delete(TOGETHER, int(column), axis=1))


@pytest.mark.parametrize("companion", ["y.npy", "y.csv", "y.parquet"])
@pytest.mark.parametrize("beside", [True, False])
def test_the_target_can_be_a_file(companion, beside, tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", X)
    if companion == "y.npy":
        np.save(tmp_path / companion, Y)
    elif companion == "y.csv":
        FRAME[["outcome"]].to_csv(tmp_path / companion, index=False)
    else:
        FRAME[["outcome"]].to_parquet(tmp_path / companion)
    monkeypatch.chdir(tmp_path.parent)
    table = read(tmp_path / "X.npy", companion if beside else str(tmp_path / companion))
    assert_allclose(table.X, X)
    assert_allclose(table.y, Y)


def test_npy_stays_on_disk(tmp_path):
    for column in ("0", "-1"):
        assert isinstance(read(saved(tmp_path, "a.npy")[0], column).X, np.memmap)


def test_names_beside_X_are_used(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y, feature_names=NAMES)
    assert read(tmp_path / "a.npz", "y").names == NAMES


def test_a_large_zarr_array_stays_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(array_files, "IN_MEMORY", 100)
    table = read(*saved(tmp_path, "group.zarr"))
    assert isinstance(table.X, da.Array)
    assert_allclose(table.X.compute(), X)
    assert_allclose(table.y, Y)
    table = read(*saved(tmp_path, "array.zarr"))
    assert isinstance(table.X, da.Array)
    assert_allclose(table.y, Y)


# Bad input


def refused(match, path, *args, **options):
    """One sentence that begins with the file's name."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=match) as caught:
            read(path, *args, **options)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def written(folder, text, name="a.csv"):
    (folder / name).write_text(text)
    return folder / name


TABLE = "a,b,y\n1,2,3\n4,5,6\n"

BAD_TEXT = {
    "empty": ("", "empty"),
    "blank": ("\n\n", "empty"),
    "header only": ("a,b,y\n", "no rows"),
    "twice": ("a,a,y\n1,2,3\n4,5,6\n", "'a' is there more than once"),
    "text": ("a,town,y\n1,Utrecht,3\n4,Delft,6\n", r"1 column that is not numeric: 'town'.*drop it"),
    "text in two": ("a,town,land,y\n1,U,N,3\n", r"2 columns that are not numeric: 'town'.*'land'.*drop them"),
    "text target": ("a,b,y\n1,2,yes\n4,5,no\n", "'y'"),
    "missing": ("a,b,y\n1,,3\n4,5,\n,,6\n", r"4 values missing.*in 3 rows.*'a' \(1\), 'b' \(2\), 'y' \(1\).*impute"),
    "infinite": ("a,b,y\n1,inf,3\n4,5,6\n", r"1 value missing or infinite, in 1 row: 'b' \(1\)"),
    "no inputs": ("y\n1\n2\n", "no column to predict from"),
    "ragged": ("a,b,y\n1,2,3\n4,5,6,7,8\n", "cannot be used as csv.*line 3"),
}


@pytest.mark.parametrize("kind", BAD_TEXT)
def test_bad_csv_is_refused(kind, tmp_path):
    text, match = BAD_TEXT[kind]
    refused(match, written(tmp_path, text), "y")


def test_unknown_columns_are_refused_with_a_proposal(tmp_path):
    WRITERS["a.csv"](tmp_path / "a.csv")
    refused("no column 'outcom'; did you mean 'outcome'", tmp_path / "a.csv", "outcom")
    refused("no column 'zzz'; its columns are 'age', 'dose'", tmp_path / "a.csv", "zzz")
    refused("no column 'wieght'; did you mean 'weight'", tmp_path / "a.csv", "outcome", drop=["wieght"])
    refused("no column 'wieght'; did you mean 'weight'", tmp_path / "a.csv", "outcome", columns=["wieght"])
    refused("no column 'Age'; did you mean 'age'", tmp_path / "a.csv", "outcome", covariates=["Age"])
    refused("target 'outcome' is among the columns to drop", tmp_path / "a.csv", "outcome", drop=["outcome"])


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.csv.gz", "a.npy", "arrays.npz", "sparse.npz"])
def test_truncated_files_are_refused(name, tmp_path):
    path = tmp_path / name
    if name in WRITERS:
        WRITERS[name](path)
    else:
        saved(tmp_path, name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    refused("cannot be used as", path, "outcome")


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.npy", "a.npz", "a.csv.gz", "a.tsv.xz", "a.csv.bz2"])
def test_files_that_are_something_else_are_refused(name, tmp_path):
    refused("cannot be used as", written(tmp_path, TABLE, name), "y")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    refused("cannot be used as csv", tmp_path / "a.csv")


def test_repeated_names_in_parquet_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array([1.0, 2.0])] * 2
    pq.write_table(pa.Table.from_arrays(columns, names=["a", "a"]), tmp_path / "a.parquet")
    refused("'a'.*more than once|cannot be used as parquet", tmp_path / "a.parquet")


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[print, print]], dtype=object))
    refused("cannot be used as npy.*Python objects", tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", X=np.array([[print, print]], dtype=object))
    refused("cannot be used as npz.*allow_pickle", tmp_path / "a.npz")


def test_bad_arrays_are_refused(tmp_path):
    def array(values, name="a.npy"):
        np.save(tmp_path / name, values)
        return tmp_path / name

    refused(r"shape \(30,\).*samples × features", array(Y))
    refused("dtype complex128", array(X + 1j))
    refused("dtype <U1", array(np.full((3, 2), "a")))
    for target in ("4", "-5", "outcome", "1.5"):
        refused("columns have no names; give the number of one, from 0 to 3", array(X), target)
    array(Y[:-1], "y.npy")
    refused(r"'y.npy' has shape \(29,\), but X has 30 rows", array(X), "y.npy")
    FRAME.to_csv(tmp_path / "y.csv", index=False)
    with pytest.raises(ValueError, match=r"y\.csv: it has 5 columns; a file named as target must have one"):
        read(array(X), "y.csv")
    for option in ({"columns": ["a"]}, {"drop": ["a"]}, {"covariates": ["a"]}):
        refused("columns have no names", array(X), "-1", **option)


def test_archives_without_the_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", inputs=X, y=Y)
    refused("no array 'X', only 'inputs', 'y'", tmp_path / "a.npz", "y")
    np.savez(tmp_path / "b.npz", X=X, y=Y)
    refused("no array 'z', only 'X', 'y'", tmp_path / "b.npz", "z")
    np.savez(tmp_path / "c.npz", X=X, feature_names=NAMES[1:])
    refused("3 names, but X 4 columns", tmp_path / "c.npz")
    zarr.open_group(str(tmp_path / "d.zarr"), mode="w")
    refused("no array 'X', only nothing", tmp_path / "d.zarr", "y")
    (tmp_path / "e.zarr").mkdir()
    refused("cannot be used as zarr", tmp_path / "e.zarr", "y")


def test_unknown_formats_are_refused(tmp_path):
    refused(r"format is not known.*\.csv.*\.bed", written(tmp_path, TABLE, "a.xlsx"), "y")
    refused("format is not known", written(tmp_path, TABLE, "data"), "y")


def test_absent_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        read(tmp_path / "a.csv", "y")
    assert caught.value.filename == str(tmp_path / "a.csv")


def test_folders_in_place_of_files_are_named(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        read(tmp_path / "a.csv", "y")
    assert str(caught.value.filename) == str(tmp_path / "a.csv")


def test_missing_packages_are_named_with_their_extra():
    with pytest.raises(ImportError, match=r"reading x needs nowhere; install it with: pip install 'garrote\[tables\]'"):
        tables.needed("nowhere.at_all", "tables", "reading x")


def test_reading_leaves_nothing_open(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write(TABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        read(path, "y")


# Genotypes


def test_genotypes_come_with_their_phenotype_and_covariates(tmp_path):
    calls = RNG.integers(0, 3, (30, 5)).astype(float)
    ids = [f"i{k}" for k in range(30)]
    to_bed(tmp_path / "a.bed", calls, properties={"fid": ids, "iid": ids, "sid": [f"rs{k}" for k in range(5)]})
    phenotypes = pd.DataFrame({"FID": ids, "IID": ids, "height": Y})
    phenotypes[::-1].to_csv(tmp_path / "height.txt", sep=" ", index=False)
    phenotypes.rename(columns={"height": "age"}).to_csv(tmp_path / "age.txt", sep=" ", index=False)
    table = read(tmp_path / "a.bed", str(tmp_path / "height.txt"), covariates=tmp_path / "age.txt")
    assert_allclose(table.y, Y, rtol=1e-6)
    assert_allclose(table.X.columns(np.arange(5)), calls)
    assert table.names == ["rs0", "rs1", "rs2", "rs3", "rs4", "age"]
    assert table.covariates == ["age"]
    assert table.ignored == ()
