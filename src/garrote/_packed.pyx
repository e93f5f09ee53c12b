# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Products with packed genotypes, four to a byte. The plain twins, which state the mathematics, are in _plain_packed.

A pass spends one lookup on four genotypes: for a given r, the sum that a byte contributes depends only on its value
and its place, so it is tabulated once and shared by all variants. Missing calls, which are few, are listed apart.
"""

#: So many bytes of every variant are looked up before the next ones: their part of the table (1 MB) stays in the cache.
cdef Py_ssize_t PLACES = 512


def transpose_dot(
    const unsigned char[:, ::1] packed,
    const Py_ssize_t[::1] variants,
    const double[:, ::1] table,
    const Py_ssize_t[::1] starts,
    const int[::1] missing,
    const double[::1] mean,
    const double[::1] r,
    double[::1] out,
):
    """out_j = Σ_p table[p, byte p of variant j] + mean_j Σ_missing r."""
    cdef Py_ssize_t j, k, p, first = 0, last, n_bytes = table.shape[0]
    cdef const unsigned char *row
    cdef const double *entry
    cdef double s0, s1, s2, s3  # four sums, so that an addition need not wait for the one before
    with nogil:
        for j in range(variants.shape[0]):
            s0 = 0.0
            for k in range(starts[variants[j]], starts[variants[j] + 1]):
                s0 = s0 + r[missing[k]]
            out[j] = mean[j] * s0
        while first < n_bytes:
            last = min(first + PLACES, n_bytes)
            for j in range(variants.shape[0]):
                row = &packed[variants[j], 0]
                entry = &table[first, 0]
                s0 = s1 = s2 = s3 = 0.0
                p = first
                while p + 4 <= last:
                    s0 = s0 + entry[row[p]]
                    s1 = s1 + entry[256 + row[p + 1]]
                    s2 = s2 + entry[512 + row[p + 2]]
                    s3 = s3 + entry[768 + row[p + 3]]
                    entry = entry + 1024
                    p = p + 4
                while p < last:
                    s0 = s0 + entry[row[p]]
                    entry = entry + 256
                    p = p + 1
                out[j] += (s0 + s1) + (s2 + s3)
            first = last


def add_columns(
    const unsigned char[:, ::1] packed,
    const Py_ssize_t[::1] variants,
    const double[:, ::1] dosages,
    const Py_ssize_t[::1] starts,
    const int[::1] missing,
    const double[::1] mean,
    const double[::1] v,
    double[::1] out,
):
    """out += Σ_j v_j x_j; `dosages` holds the four genotypes of each of the 256 bytes."""
    cdef Py_ssize_t j, k, p, n_bytes = packed.shape[1]
    cdef const unsigned char *row
    cdef const double *four
    cdef double *target
    cdef double scale
    with nogil:
        for j in range(variants.shape[0]):
            row = &packed[variants[j], 0]
            scale = v[j]
            target = &out[0]
            for p in range(n_bytes):
                four = &dosages[row[p], 0]
                target[0] += scale * four[0]
                target[1] += scale * four[1]
                target[2] += scale * four[2]
                target[3] += scale * four[3]
                target = target + 4
            scale = scale * mean[j]
            for k in range(starts[variants[j]], starts[variants[j] + 1]):
                out[missing[k]] += scale
