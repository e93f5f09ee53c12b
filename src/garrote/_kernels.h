/* Products with small matrices, and conjugate gradients, in vector registers of FLOATS floats.

   This file is included by _levels.h once for each instruction set, under other names: a compiler that is given longer vectors
   than the processor has keeps them in memory. Vectors of floats are filled up to multiples of LANES with zeros. */

#define PER_LANES (LANES / FLOATS)
#define Floats LEVEL(Floats)
#define Doubles LEVEL(Doubles)

typedef float Floats __attribute__((vector_size(4 * FLOATS), may_alias, aligned(4)));
typedef double Doubles __attribute__((vector_size(4 * FLOATS), may_alias, aligned(8)));

#define LOAD(from, k) (((const Floats *)(from))[k])
#define STORE(to, k, value) (((Floats *)(to))[k] = (value))

/* out = the sum of rows of A, each times its x, in `wide` LANES of columns. The fewer registers they fill, the more rows at a
   time, so that the processor need not wait for one sum to begin the next. `order` is 1, or -1 to begin with the last row: of
   what does not fit into the first cache, some is there still where the product before it ended. */
INLINE void LEVEL(sum_panel)(
    const int wide, int n, int stride, int order, const int *restrict chosen, const float *restrict A,
    const float *restrict x, float *restrict out)
{
    const int registers = wide * PER_LANES, chains = registers <= 2 ? 4 : registers <= 6 ? 2 : 1;
    Floats part[4][8 * PER_LANES];
    int p = order > 0 ? 0 : n - 1, left = n;
    for (int c = 0; c < chains; c++)
        for (int k = 0; k < registers; k++)
            part[c][k] = (Floats){0};
    for (; left >= chains; left -= chains, p += chains * order)
        for (int c = 0; c < chains; c++) {
            const float *row = row_of(A, stride, chosen, p + c * order);
            for (int k = 0; k < registers; k++)
                part[c][k] += LOAD(row, k) * x[p + c * order];
        }
    for (; left > 0; left--, p += order) {
        const float *row = row_of(A, stride, chosen, p);
        for (int k = 0; k < registers; k++)
            part[0][k] += LOAD(row, k) * x[p];
    }
    for (int k = 0; k < registers; k++) {
        for (int c = 1; c < chains; c++)
            part[0][k] += part[c][k];
        STORE(out, k, part[0][k]);
    }
}

/* out = the sum of n rows of a matrix, all or those chosen, each times its x; in panels of columns about as wide as each
   other. */
static void LEVEL(sum_rows)(
    int columns, int n, int stride, int order, const int *restrict chosen, const float *restrict A,
    const float *restrict x, float *restrict out)
{
    for (int left = columns / LANES, panels = (left + WIDEST - 1) / WIDEST; panels > 0; panels--) {
        int wide = (left + panels - 1) / panels;
        switch (wide) {
        case 1: LEVEL(sum_panel)(1, n, stride, order, chosen, A, x, out); break;
        case 2: LEVEL(sum_panel)(2, n, stride, order, chosen, A, x, out); break;
        case 3: LEVEL(sum_panel)(3, n, stride, order, chosen, A, x, out); break;
#if WIDEST > 3
        case 4: LEVEL(sum_panel)(4, n, stride, order, chosen, A, x, out); break;
        case 5: LEVEL(sum_panel)(5, n, stride, order, chosen, A, x, out); break;
        case 6: LEVEL(sum_panel)(6, n, stride, order, chosen, A, x, out); break;
#endif
#if WIDEST > 6
        case 7: LEVEL(sum_panel)(7, n, stride, order, chosen, A, x, out); break;
        case 8: LEVEL(sum_panel)(8, n, stride, order, chosen, A, x, out); break;
#endif
        }
        left -= wide;
        A += wide * LANES;
        out += wide * LANES;
    }
}

/* out = b - the sum of `rows` rows of A, each times its x, in `wide` times eight columns. */
INLINE void LEVEL(subtract_panel)(
    const int wide, int rows, int n, const double *restrict A, const double *restrict x, const double *restrict b,
    double *restrict out)
{
    const int registers = wide * PER_LANES;
    Doubles even[4 * PER_LANES], odd[4 * PER_LANES];
    int p = 0;
    for (int k = 0; k < registers; k++)
        even[k] = odd[k] = (Doubles){0};
    for (; registers <= 4 && p + 2 <= rows; p += 2)
        for (int k = 0; k < registers; k++) {
            even[k] += ((const Doubles *)(A + (size_t)p * n))[k] * x[p];
            odd[k] += ((const Doubles *)(A + (size_t)(p + 1) * n))[k] * x[p + 1];
        }
    for (; p < rows; p++)
        for (int k = 0; k < registers; k++)
            even[k] += ((const Doubles *)(A + (size_t)p * n))[k] * x[p];
    for (int k = 0; k < registers; k++)
        ((Doubles *)out)[k] = ((const Doubles *)b)[k] - (even[k] + odd[k]);
}

/* out = b - the rows of A, each times its x, where a row has n elements, at least eight. */
static void LEVEL(subtract_product)(
    int rows, int n, const double *restrict A, const double *restrict x, const double *restrict b, double *restrict out)
{
    int j = 0;
    for (; j + 32 <= n; j += 32)
        LEVEL(subtract_panel)(4, rows, n, A + j, x, b + j, out + j);
    if (j + 16 <= n) {
        LEVEL(subtract_panel)(2, rows, n, A + j, x, b + j, out + j);
        j += 16;
    }
    if (j + 8 <= n) {
        LEVEL(subtract_panel)(1, rows, n, A + j, x, b + j, out + j);
        j += 8;
    }
    if (j < n) /* some of the last eight once more */
        LEVEL(subtract_panel)(1, rows, n, A + n - 8, x, b + n - 8, out + n - 8);
}

/* The sum of a register's elements. */
INLINE float LEVEL(total)(const Floats *of)
{
#if defined(SHUFFLES) && FLOATS == 16
    Eight eight = __builtin_shufflevector(*of, *of, 0, 1, 2, 3, 4, 5, 6, 7)
        + __builtin_shufflevector(*of, *of, 8, 9, 10, 11, 12, 13, 14, 15);
#elif defined(SHUFFLES) && FLOATS == 8
    Floats eight = *of;
#endif
#if defined(SHUFFLES) && FLOATS > 4
    Four four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    four += __builtin_shufflevector(four, four, 2, 3, 0, 1);
    return four[0] + four[1];
#else
    float sum = 0.0f;
    for (int i = 0; i < FLOATS; i++)
        sum += (*of)[i];
    return sum;
#endif
}

/* Conjugate gradients until r.r is not above `most`, at most so many steps, for systems of `wide` LANES.

   A step has two sums that the next operation has to wait for. In small systems that waiting, and not the arithmetic, takes
   the time: so they are solved within one function, and nothing is converted on the way. */
INLINE void LEVEL(solve_small)(const int wide, Gradients *system, float most, int most_steps)
{
    const int registers = wide * PER_LANES;
    Floats scale[8 * PER_LANES], rest[8 * PER_LANES], z[8 * PER_LANES], x[8 * PER_LANES], r[8 * PER_LANES];
    Floats direction[8 * PER_LANES], applied[8 * PER_LANES];
    float squares = system->squares, gain = 0.0f;
    int n = system->n, stride = system->stride, convex = 1, steps = 0;
    for (int k = 0; k < registers; k++) {
        scale[k] = LOAD(system->scale, k);
        rest[k] = LOAD(system->rest, k);
        z[k] = LOAD(system->z, k);
        x[k] = LOAD(system->x, k);
        r[k] = LOAD(system->r, k);
        direction[k] = LOAD(system->direction, k);
    }
    for (; steps < most_steps && squares > most; steps++) {
        Floats sum = {0};
        float along, curvature, length, before = squares;
        for (int k = 0; k < registers; k++) {
            STORE(system->side, k, scale[k] * direction[k]);
            sum += z[k] * direction[k];
        }
        along = LEVEL(total)(&sum);
        if (wide <= WIDEST)
            LEVEL(sum_panel)(wide, n, stride, system->order, NULL, system->C, system->side, (float *)applied);
        else
            LEVEL(sum_rows)(wide * LANES, n, stride, system->order, NULL, system->C, system->side, (float *)applied);
        system->order = -system->order;
        sum = (Floats){0};
        for (int k = 0; k < registers; k++) {
            applied[k] = scale[k] * applied[k] + rest[k] * direction[k] - along * z[k];
            sum += direction[k] * applied[k];
        }
        curvature = LEVEL(total)(&sum);
        if (!(curvature > 0.0f)) {
            convex = 0;
            break;
        }
        length = squares / curvature;
        gain += squares * length;
        sum = (Floats){0};
        for (int k = 0; k < registers; k++) {
            x[k] += length * direction[k];
            r[k] -= length * applied[k];
            sum += r[k] * r[k];
        }
        squares = LEVEL(total)(&sum);
        for (int k = 0; k < registers; k++)
            direction[k] = r[k] + squares / before * direction[k];
    }
    for (int k = 0; k < registers; k++) {
        STORE(system->x, k, x[k]);
        STORE(system->r, k, r[k]);
        STORE(system->direction, k, direction[k]);
    }
    system->convex = convex;
    system->steps = steps;
    system->squares = squares;
    system->gain = gain;
}

/* Whether the system is small enough to be solved at once; then it is. */
static int LEVEL(solve_at_once)(Gradients *system, float most, int most_steps)
{
    switch (system->filled / LANES) {
    case 1: LEVEL(solve_small)(1, system, most, most_steps); return 1;
    case 2: LEVEL(solve_small)(2, system, most, most_steps); return 1;
    case 3: LEVEL(solve_small)(3, system, most, most_steps); return 1;
    case 4: LEVEL(solve_small)(4, system, most, most_steps); return 1;
    case 5: LEVEL(solve_small)(5, system, most, most_steps); return 1;
    case 6: LEVEL(solve_small)(6, system, most, most_steps); return 1;
    case 7: LEVEL(solve_small)(7, system, most, most_steps); return 1;
    case 8: LEVEL(solve_small)(8, system, most, most_steps); return 1;
    }
    return 0;
}

#undef PER_LANES
#undef Floats
#undef Doubles
#undef LOAD
#undef STORE
