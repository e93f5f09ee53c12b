"""The loops in vector registers do the same with registers of every size, also those that are not chosen here."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

HEADERS = Path(__file__).parents[1] / "src" / "garrote"
LANES = 16
LEVELS = {4: "1", 8: '__builtin_cpu_supports("x86-64-v3")', 16: '__builtin_cpu_supports("x86-64-v4")'}

ONE_LEVEL = """
int supported_FLOATS(void) { return SUPPORTED; }
void rows_FLOATS(
    int columns, int n, int stride, int order, const int *chosen, const float *A, const float *x, float *out)
{ sum_rows_FLOATS(columns, n, stride, order, chosen, A, x, out); }
void subtract_FLOATS(int rows, int n, const double *A, const double *x, const double *b, double *out)
{ subtract_product_FLOATS(rows, n, A, x, b, out); }
int solve_FLOATS(
    int n, int filled, int stride, const float *C, const float *scale, const float *rest, const float *z, float *x,
    float *r, float *direction, float *side)
{
    Gradients system = {n, filled, stride, 1, C, scale, rest, z, x, r, direction, side, 1, 0, 1.0f, 0.0f};
    return solve_at_once_FLOATS(&system, 1e-12f, 1000) && system.convex;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no compiler")
    folder = tmp_path_factory.mktemp("levels")
    levels = [
        ONE_LEVEL.replace("FLOATS", str(floats)).replace("SUPPORTED", supported) for floats, supported in LEVELS.items()
    ]
    known = "#if defined(PROCESSORS)\n" + "".join(levels[1:]) + "#endif\n"
    (folder / "levels.c").write_text('#include "_levels.h"\n' + levels[0] + known)
    command = [compiler, "-O2", "-w", "-shared", "-fPIC", f"-I{HEADERS}", "levels.c", "-o", "levels.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "levels.so"))


@pytest.fixture(params=LEVELS)
def level(request, library):
    """The functions for registers of so many floats."""
    try:
        supported = getattr(library, f"supported_{request.param}")()
    except AttributeError:
        supported = False
    if not supported:
        pytest.skip(f"this processor has no registers of {request.param} floats")
    return lambda name: getattr(library, f"{name}_{request.param}")


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_rows_are_summed(level, n, order):
    rng = np.random.default_rng(n)
    for wide in range(1, 20):
        A = rng.standard_normal((60, wide * LANES)).astype(np.float32)
        x, out = rng.standard_normal(n).astype(np.float32), np.full(wide * LANES, np.nan, dtype=np.float32)
        for chosen in (None, rng.permutation(60)[:n].astype(np.intc)):
            level("rows")(wide * LANES, n, wide * LANES, order, pointer(chosen), pointer(A), pointer(x), pointer(out))
            rows = A[:n] if chosen is None else A[chosen]
            assert_allclose(out, rows.T.astype(np.float64) @ x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [8, 9, 15, 16, 31, 40, 57, 100])
def test_a_product_is_subtracted(level, n):
    rng = np.random.default_rng(n)
    for rows in (1, 2, 7, 50):
        A, x, b, out = rng.standard_normal((rows, n)), rng.standard_normal(rows), rng.standard_normal(n), np.empty(n)
        level("subtract")(rows, n, pointer(A), pointer(x), pointer(b), pointer(out))
        assert_allclose(out, b - x @ A, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("wide", range(1, 9))
def test_small_systems_are_solved(level, wide):
    rng, filled = np.random.default_rng(wide), wide * LANES
    n = filled - 3
    X = rng.standard_normal((4 * n, n))
    C = np.zeros((n, filled), dtype=np.float32)
    C[:, :n] = np.corrcoef(X.T)
    scale, rest, z, x, r, direction, side = np.zeros((7, filled), dtype=np.float32)
    scale[:n] = np.sqrt(rng.uniform(0.1, 1.2, n))
    rest[:n] = 1.0 - scale[:n] ** 2
    z[:n] = 0.05 * rng.standard_normal(n)
    r[:n] = rng.standard_normal(n)
    r /= np.linalg.norm(r)
    direction[:] = r
    S, right = np.diag(scale[:n].astype(np.float64)), r[:n].astype(np.float64)
    matrix = np.eye(n) + S @ (C[:, :n].astype(np.float64) - np.eye(n)) @ S - np.outer(z[:n], z[:n])
    assert level("solve")(n, filled, filled, *map(pointer, (C, scale, rest, z, x, r, direction, side)))
    assert_allclose(x[:n], np.linalg.solve(matrix, right), atol=1e-4)
    assert not x[n:].any()
