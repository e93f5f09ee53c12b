/* Conjugate gradients in single precision for (1 + S (C - 1) S - z z') x = r, with S = diag(scale) and rest = 1 - S^2.

   A step has two sums that the next operation has to wait for. In small systems that waiting, and not the arithmetic, takes
   the time: so they are solved within one function, their vectors stay in registers, and nothing is converted on the way. */

#ifndef GARROTE_GRADIENTS_H
#define GARROTE_GRADIENTS_H

#include <stddef.h>

#include "_single.h"

/* A system of n equations, in vectors filled up to whole registers; x and r are those of the solution so far. */
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

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define IN_REGISTERS
#endif
#endif

#if defined(IN_REGISTERS)
typedef float Half __attribute__((vector_size(2 * LANES)));
typedef float Quarter __attribute__((vector_size(LANES)));

/* The sum of a register's elements. */
INLINE float total(const Lanes *of)
{
    Half half = __builtin_shufflevector(*of, *of, 0, 1, 2, 3, 4, 5, 6, 7)
        + __builtin_shufflevector(*of, *of, 8, 9, 10, 11, 12, 13, 14, 15);
    Quarter quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
    quarter += __builtin_shufflevector(quarter, quarter, 2, 3, 0, 1);
    return quarter[0] + quarter[1];
}

/* The sum of rows of C, each times its element of side, in `wide` registers. The fewer they are, the more rows at a time, so
   that the processor need not wait for one sum to begin the next. `order` as for sum_panel. */
INLINE void sum_small(
    const int wide, int n, int stride, int order, const float *restrict C, const float *restrict side,
    Lanes *restrict sums)
{
    const int chains = wide <= 2 ? 4 : wide <= 6 ? 2 : 1;
    const ptrdiff_t next = (ptrdiff_t)order * stride;
    Lanes part[4][8];
    int p = 0;
    if (order < 0) {
        C += (size_t)(n - 1) * stride;
        side += n - 1;
    }
    for (int c = 0; c < chains; c++)
        for (int k = 0; k < wide; k++)
            part[c][k] = (Lanes){0};
    for (; p + chains <= n; p += chains, C += chains * next, side += chains * order)
        for (int c = 0; c < chains; c++)
            for (int k = 0; k < wide; k++)
                part[c][k] += LOAD(C + c * next + k * LANES) * side[c * order];
    for (; p < n; p++, C += next, side += order)
        for (int k = 0; k < wide; k++)
            part[0][k] += LOAD(C + k * LANES) * side[0];
    for (int k = 0; k < wide; k++) {
        sums[k] = part[0][k];
        for (int c = 1; c < chains; c++)
            sums[k] += part[c][k];
    }
}

/* Steps until r.r is not above `most`, at most so many, for systems of `wide` registers. */
INLINE void solve_small(const int wide, Gradients *system, float most, int most_steps)
{
    Lanes scale[8], rest[8], z[8], x[8], r[8], direction[8], applied[8];
    float squares = system->squares, gain = 0.0f;
    int n = system->n, stride = system->stride, convex = 1, steps = 0;
    for (int k = 0; k < wide; k++) {
        scale[k] = LOAD(system->scale + k * LANES);
        rest[k] = LOAD(system->rest + k * LANES);
        z[k] = LOAD(system->z + k * LANES);
        x[k] = LOAD(system->x + k * LANES);
        r[k] = LOAD(system->r + k * LANES);
        direction[k] = LOAD(system->direction + k * LANES);
    }
    for (; steps < most_steps && squares > most; steps++) {
        Lanes sum = {0};
        float along, curvature, length, before = squares;
        for (int k = 0; k < wide; k++) {
            STORE(system->side + k * LANES, scale[k] * direction[k]);
            sum += z[k] * direction[k];
        }
        along = total(&sum);
        sum_small(wide, n, stride, system->order, system->C, system->side, applied);
        system->order = -system->order;
        sum = (Lanes){0};
        for (int k = 0; k < wide; k++) {
            applied[k] = scale[k] * applied[k] + rest[k] * direction[k] - along * z[k];
            sum += direction[k] * applied[k];
        }
        curvature = total(&sum);
        if (!(curvature > 0.0f)) {
            convex = 0;
            break;
        }
        length = squares / curvature;
        gain += squares * length;
        sum = (Lanes){0};
        for (int k = 0; k < wide; k++) {
            x[k] += length * direction[k];
            r[k] -= length * applied[k];
            sum += r[k] * r[k];
        }
        squares = total(&sum);
        for (int k = 0; k < wide; k++)
            direction[k] = r[k] + squares / before * direction[k];
    }
    for (int k = 0; k < wide; k++) {
        STORE(system->x + k * LANES, x[k]);
        STORE(system->r + k * LANES, r[k]);
        STORE(system->direction + k * LANES, direction[k]);
    }
    system->convex = convex;
    system->steps = steps;
    system->squares = squares;
    system->gain = gain;
}
#endif

/* Whether the system is small enough to be solved at once; then it is. */
EACH_PROCESSOR static int solve_at_once(Gradients *system, float most, int most_steps)
{
#if defined(IN_REGISTERS)
    switch (system->filled / LANES) {
    case 1: solve_small(1, system, most, most_steps); return 1;
    case 2: solve_small(2, system, most, most_steps); return 1;
    case 3: solve_small(3, system, most, most_steps); return 1;
    case 4: solve_small(4, system, most, most_steps); return 1;
    case 5: solve_small(5, system, most, most_steps); return 1;
    case 6: solve_small(6, system, most, most_steps); return 1;
    case 7: solve_small(7, system, most, most_steps); return 1;
    case 8: solve_small(8, system, most, most_steps); return 1;
    }
#endif
    return 0;
}

#endif
