/* The loops of _kernels.h for the vector registers that the processor has.

   Built by GCC for x86 they are there three times, and the processor is asked; elsewhere once, with registers of four floats,
   which every processor has that has any. Compilers without vectors have plain loops. */

#ifndef GARROTE_LEVELS_H
#define GARROTE_LEVELS_H

#include "_single.h"

/* A system (1 + S (C - 1) S - z z') x = r of n equations, with S = diag(scale) and rest = 1 - S^2, in vectors filled up; x and
   r are those of the solution so far. */
typedef struct {
    int n, filled, stride;
    int order;      /* where the next product begins: 1 at the first row of C, -1 at the last */
    const float *C; /* correlations, a row for each equation */
    const float *scale, *rest, *z;
    float *x, *r, *direction;
    float *side;    /* scale times the direction */
    int convex;     /* whether no direction of negative curvature was met */
    int steps;
    float squares;  /* of r */
    float gain;     /* twice what the quadratic form lost by x */
} Gradients;

/* The p-th row of A, or of those that are chosen. */
INLINE const float *row_of(const float *A, int stride, const int *chosen, int p)
{
    return A + (size_t)(chosen ? chosen[p] : p) * stride;
}

#if defined(__GNUC__)

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLES
#endif
#endif
typedef float Four __attribute__((vector_size(16)));
typedef float Eight __attribute__((vector_size(32)));

/* WIDEST: so many LANES of sums stay in registers. */
#define FLOATS 4
#if defined(__aarch64__)
#define WIDEST 6
#else
#define WIDEST 3
#endif
#define LEVEL(name) name##_4
#include "_kernels.h"
#undef FLOATS
#undef WIDEST
#undef LEVEL

#if defined(PROCESSORS)
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define FLOATS 8
#define WIDEST 6
#define LEVEL(name) name##_8
#include "_kernels.h"
#undef FLOATS
#undef WIDEST
#undef LEVEL
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define FLOATS 16
#define WIDEST 8
#define LEVEL(name) name##_16
#include "_kernels.h"
#undef FLOATS
#undef WIDEST
#undef LEVEL
#pragma GCC pop_options

#define AS_IT_HAS(name, arguments)                                                                                        \
    (__builtin_cpu_supports("x86-64-v4") ? name##_16 arguments                                                            \
        : __builtin_cpu_supports("x86-64-v3") ? name##_8 arguments : name##_4 arguments)
#else
#define AS_IT_HAS(name, arguments) (name##_4 arguments)
#endif

static void sum_rows(
    int columns, int n, int stride, int order, const int *chosen, const float *A, const float *x, float *out)
{
    AS_IT_HAS(sum_rows, (columns, n, stride, order, chosen, A, x, out));
}

static void subtract_product(int rows, int n, const double *A, const double *x, const double *b, double *out)
{
    AS_IT_HAS(subtract_product, (rows, n, A, x, b, out));
}

static int solve_at_once(Gradients *system, float most, int most_steps)
{
    return AS_IT_HAS(solve_at_once, (system, most, most_steps));
}

#else

static void sum_rows(
    int columns, int n, int stride, int order, const int *restrict chosen, const float *restrict A,
    const float *restrict x, float *restrict out)
{
    memset(out, 0, columns / LANES * LANES * sizeof(float));
    for (int p = 0; p < n; p++) {
        const float *restrict row = row_of(A, stride, chosen, p);
        for (int i = 0; i < columns; i++)
            out[i] += row[i] * x[p];
    }
}

static void subtract_product(
    int rows, int n, const double *restrict A, const double *restrict x, const double *restrict b, double *restrict out)
{
    memcpy(out, b, n * sizeof(double));
    for (int p = 0; p < rows; p++)
        for (int i = 0; i < n; i++)
            out[i] -= A[(size_t)p * n + i] * x[p];
}

static int solve_at_once(Gradients *system, float most, int most_steps)
{
    return 0;
}

#endif

#endif
