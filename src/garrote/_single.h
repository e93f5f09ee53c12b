/* Loops in single precision over vectors whose lengths are multiples of LANES, filled up with zeros.

   Small systems are solved some thousand times in a path: what is left over after whole vector registers would take as long
   as the rest. Compiled for each processor as those of _vectors.h. */

#ifndef GARROTE_SINGLE_H
#define GARROTE_SINGLE_H

#include "_vectors.h"

#define LANES 16

/* The multiple of LANES that is not below n. */
INLINE int filled_up(int n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* The first address from x on where a whole cache line begins. */
INLINE float *aligned(float *x)
{
    return (float *)(((uintptr_t)x + 63) / 64 * 64);
}

/* out = the products of n rows of A with x, four at a time. */
EACH_PROCESSOR static void dot_rows(
    int columns, int n, int stride, int order, const float *restrict A, const float *restrict x, float *restrict out)
{
    int p = order > 0 ? 0 : n - 1, left = n;
    columns = columns / LANES * LANES;
    for (; left >= 4; left -= 4, p += 4 * order) {
        const float *restrict a = A + (size_t)p * stride, *restrict b = A + (size_t)(p + order) * stride;
        const float *restrict c = A + (size_t)(p + 2 * order) * stride, *restrict d = A + (size_t)(p + 3 * order) * stride;
        float of_a = 0.0f, of_b = 0.0f, of_c = 0.0f, of_d = 0.0f;
#pragma omp simd reduction(+ : of_a, of_b, of_c, of_d)
        for (int k = 0; k < columns; k++) {
            of_a += a[k] * x[k];
            of_b += b[k] * x[k];
            of_c += c[k] * x[k];
            of_d += d[k] * x[k];
        }
        out[p] = of_a;
        out[p + order] = of_b;
        out[p + 2 * order] = of_c;
        out[p + 3 * order] = of_d;
    }
    for (; left > 0; left--, p += order) {
        const float *restrict a = A + (size_t)p * stride;
        float of_a = 0.0f;
#pragma omp simd reduction(+ : of_a)
        for (int k = 0; k < columns; k++)
            of_a += a[k] * x[k];
        out[p] = of_a;
    }
}

/* out = factor x factors, the last of which may be all one, in single precision. */
EACH_PROCESSOR static void in_single(
    int n, double factor, const double *restrict x, const double *restrict factors, float *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (float)(factor * x[i] * (factors ? factors[i] : 1.0));
}

/* The chosen rows and columns of a symmetric matrix, of which the first `known` are there already; `filled` is n filled up. */
EACH_PROCESSOR static void gather_rows(
    int known, int n, int filled, int stride, int room, const int *restrict chosen, const float *restrict A,
    float *restrict out)
{
    for (int p = known; p < n; p++) {
        const float *restrict row = A + (size_t)chosen[p] * stride;
        float *restrict to = out + (size_t)p * room;
        for (int j = 0; j < n; j++)
            to[j] = row[chosen[j]];
        for (int j = n; j < filled; j++)
            to[j] = 0.0f;
    }
    for (int p = 0; p < known; p++) {
        float *restrict to = out + (size_t)p * room;
        for (int j = known; j < n; j++)
            to[j] = out[(size_t)j * room + p];
        for (int j = n; j < filled; j++)
            to[j] = 0.0f;
    }
}

/* How many features are likely to be almost copies of the i-th: those with slope_i slope_j A_ij^2 above a bound. */
EACH_PROCESSOR static int count_alike(
    int n, double bound, double slope, const double *restrict slopes, const float *restrict row)
{
    int count = 0;
#pragma omp simd reduction(+ : count)
    for (int j = 0; j < n; j++)
        count += slope * slopes[j] * row[j] * row[j] > bound;
    return count;
}

/* side = norm (v - other), in single precision and units of `unit`, zero after it; returns the sum of its squares. */
EACH_PROCESSOR static double difference(
    int n, int filled, double unit, const double *restrict norm, const double *restrict v, const double *restrict other,
    float *restrict side)
{
    double squares = 0.0, per_unit = 1.0 / unit;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < n; i++) {
        double x = norm[i] * (v[i] - other[i]) * per_unit;
        side[i] = (float)x;
        squares += x * x;
    }
    for (int i = n; i < filled; i++)
        side[i] = 0.0f;
    return squares;
}

/* c = its value at another v less the sums, in units as above; returns (v - other).(c + its value there). */
EACH_PROCESSOR static double move_correlations(
    int n, double unit, const double *restrict norm, const float *restrict sums, const double *restrict v,
    const double *restrict other, const double *restrict there, double *restrict c)
{
    double explained = 0.0;
#pragma omp simd reduction(+ : explained)
    for (int i = 0; i < n; i++) {
        c[i] = there[i] - unit * norm[i] * sums[i];
        explained += (v[i] - other[i]) * (there[i] + c[i]);
    }
    return explained;
}

/* Choose, after the first p, the features whose x is above a bound and which are not chosen yet; without a branch that a
   processor would have to guess. */
static void choose_more(
    int n, int p, double bound, const double *restrict x, unsigned char *restrict is_chosen, int *restrict chosen)
{
    for (int i = 0; i < n; i++) {
        int more = (x[i] > bound) & !is_chosen[i];
        chosen[p] = i; /* there is room for one more than all */
        p += more;
        is_chosen[i] |= more;
    }
}

/* How many of the chosen x are above a bound. */
EACH_PROCESSOR static int count_chosen(int n, double bound, const int *restrict chosen, const double *restrict x)
{
    int count = 0;
#pragma omp simd reduction(+ : count)
    for (int p = 0; p < n; p++)
        count += x[chosen[p]] > bound;
    return count;
}

/* scale = sqrt(weight/d) and rest = 1 - weight/d of the chosen features; zero after them. */
EACH_PROCESSOR static void weigh(
    int n, int filled, double d, const int *restrict chosen, const double *restrict weight, float *restrict scale,
    float *restrict rest)
{
    float per = (float)(1.0 / d);
    for (int p = 0; p < n; p++) {
        float w = (float)weight[chosen[p]] * per;
        scale[p] = sqrtf(w);
        rest[p] = 1.0f - w;
    }
    for (int p = n; p < filled; p++)
        scale[p] = rest[p] = 0.0f;
}

/* z, in units, and the right side of Newton's system for the chosen features. */
EACH_PROCESSOR static void right_side(
    int n, double unit, double shift, const int *restrict chosen, const double *restrict norm,
    const double *restrict per_norm, const float *restrict scale, const double *restrict q, const double *restrict t,
    const double *restrict R, float *restrict z, double *restrict right)
{
    for (int p = 0; p < n; p++) {
        int i = chosen[p];
        double inverse = norm[i] * (scale[p] > 0.0f ? 1.0f / scale[p] : 0.0f), along = q[i] * inverse;
        z[p] = (float)(along * unit);
        right[p] = scale[p] * per_norm[i] * R[i] + t[i] * inverse + along * shift;
    }
}

/* The same where only w are found. */
EACH_PROCESSOR static void right_side_of_w(
    int n, const int *restrict chosen, const double *restrict per_norm, const float *restrict scale,
    const double *restrict R, float *restrict z, double *restrict right)
{
    for (int p = 0; p < n; p++) {
        z[p] = 0.0f;
        right[p] = scale[p] * per_norm[chosen[p]] * R[chosen[p]];
    }
}

/* r = direction = right over its length, zero after it; returns the length. */
EACH_PROCESSOR static double of_length_one(
    int n, int filled, const double *restrict right, float *restrict r, float *restrict direction)
{
    double squares = 0.0, length, inverse;
#pragma omp simd reduction(+ : squares)
    for (int p = 0; p < n; p++)
        squares += right[p] * right[p];
    length = sqrt(squares);
    inverse = length > 0.0 ? 1.0 / length : 0.0;
    for (int p = 0; p < n; p++)
        r[p] = direction[p] = (float)(right[p] * inverse);
    for (int p = n; p < filled; p++)
        r[p] = direction[p] = 0.0f;
    return length;
}

/* out = R - size norm sums. */
EACH_PROCESSOR static void less_response(
    int n, double size, const double *restrict norm, const float *restrict sums, const double *restrict R,
    double *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = R[i] - size * norm[i] * sums[i];
}

/* side = scale direction; returns z.direction. */
EACH_PROCESSOR static float scaled(
    int n, const float *restrict scale, const float *restrict z, const float *restrict direction, float *restrict side)
{
    float along = 0.0f;
    n = n / LANES * LANES;
#pragma omp simd reduction(+ : along)
    for (int i = 0; i < n; i++) {
        side[i] = scale[i] * direction[i];
        along += z[i] * direction[i];
    }
    return along;
}

/* applied = scale applied + rest direction - along z; returns direction.applied. */
EACH_PROCESSOR static float curvature_of(
    int n, float along, const float *restrict scale, const float *restrict rest, const float *restrict z,
    const float *restrict direction, float *restrict applied)
{
    float curvature = 0.0f;
    n = n / LANES * LANES;
#pragma omp simd reduction(+ : curvature)
    for (int i = 0; i < n; i++) {
        applied[i] = scale[i] * applied[i] + rest[i] * direction[i] - along * z[i];
        curvature += direction[i] * applied[i];
    }
    return curvature;
}

/* x += length direction and r -= length applied; returns r.r. */
EACH_PROCESSOR static float advance(
    int n, float length, const float *restrict direction, const float *restrict applied, float *restrict x,
    float *restrict r)
{
    float squares = 0.0f;
    n = n / LANES * LANES;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < n; i++) {
        x[i] += length * direction[i];
        r[i] -= length * applied[i];
        squares += r[i] * r[i];
    }
    return squares;
}

/* direction = r + factor direction and side = scale direction; returns z.direction. */
EACH_PROCESSOR static float turn(
    int n, float factor, const float *restrict r, const float *restrict scale, const float *restrict z,
    float *restrict direction, float *restrict side)
{
    float along = 0.0f;
    n = n / LANES * LANES;
#pragma omp simd reduction(+ : along)
    for (int i = 0; i < n; i++) {
        direction[i] = r[i] + factor * direction[i];
        side[i] = scale[i] * direction[i];
        along += z[i] * direction[i];
    }
    return along;
}

#endif
