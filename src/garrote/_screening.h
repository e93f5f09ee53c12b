/* Loops of the screening of exchange moves, over all features; compiled for each processor as those of _vectors.h. */

#ifndef GARROTE_SCREENING_H
#define GARROTE_SCREENING_H

#include "_vectors.h"

/* In the place of s for features that are not to enter: nothing is gained by them. */
#define CLOSED 1e300

/* The features that theta selects and the present selection does not, or the other way round; how many they are. */
static int differing(int n, const double *restrict theta, const unsigned char *restrict is_on, int *restrict out)
{
    int count = 0;
    for (int i = 0; i < n; i++) { /* without a branch that a processor would have to guess */
        out[count] = i;
        count += (theta[i] > 0.0) != is_on[i];
    }
    return count;
}

/* r -= the rows of G, each times its g; four at a time, so that r is read less often. */
EACH_PROCESSOR static void subtract_rows(
    int rows, int n, const double *restrict g, const double *restrict G, double *restrict r)
{
    int p = 0;
    for (; p + 4 <= rows; p += 4) {
        const double *restrict a = G + (size_t)p * n, *restrict b = a + n, *restrict c = b + n, *restrict d = c + n;
        for (int j = 0; j < n; j++)
            r[j] -= g[p] * a[j] + g[p + 1] * b[j] + (g[p + 2] * c[j] + g[p + 3] * d[j]);
    }
    for (; p < rows; p++)
        for (int j = 0; j < n; j++)
            r[j] -= g[p] * G[(size_t)p * n + j];
}

/* Every row of G += factor g r. */
EACH_PROCESSOR static void add_to_rows(
    int rows, int n, double factor, const double *restrict g, const double *restrict r, double *restrict G)
{
    for (int p = 0; p < rows; p++) {
        double *restrict row = G + (size_t)p * n, by = factor * g[p];
        for (int j = 0; j < n; j++)
            row[j] += by * r[j];
    }
}

/* Every row of G -= a x + b y. */
EACH_PROCESSOR static void subtract_two(
    int rows, int n, const double *restrict a, const double *restrict x, const double *restrict b,
    const double *restrict y, double *restrict G)
{
    for (int p = 0; p < rows; p++) {
        double *restrict row = G + (size_t)p * n, by_x = a[p], by_y = b[p];
        for (int j = 0; j < n; j++)
            row[j] -= by_x * x[j] + by_y * y[j];
    }
}

/* The first n rows and columns of A += a_factor a a' + b_factor b b'. */
EACH_PROCESSOR static void add_two_squares(
    int n, int stride, double a_factor, const double *restrict a, double b_factor, const double *restrict b,
    double *restrict A)
{
    for (int p = 0; p < n; p++) {
        double *restrict row = A + (size_t)p * stride, by_a = a_factor * a[p], by_b = b_factor * b[p];
        for (int q = 0; q < n; q++)
            row[q] += by_a * a[q] + by_b * b[q];
    }
}

/* The first n rows and columns of A += factor g g'. */
EACH_PROCESSOR static void add_square(
    int n, int stride, double factor, const double *restrict g, double *restrict A)
{
    for (int p = 0; p < n; p++) {
        double *restrict row = A + (size_t)p * stride, by = factor * g[p];
        for (int q = 0; q < n; q++)
            row[q] += by * g[q];
    }
}

/* out = factor x. */
EACH_PROCESSOR static void times(int n, double factor, const double *restrict x, double *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = factor * x[i];
}

/* c += c_factor r and s += s_factor r^2. */
EACH_PROCESSOR static void shift(
    int n, double c_factor, double s_factor, const double *restrict r, double *restrict c, double *restrict s)
{
    for (int i = 0; i < n; i++) {
        c[i] += c_factor * r[i];
        s[i] += s_factor * r[i] * r[i];
    }
}

/* The same for two changes at once. */
EACH_PROCESSOR static void shift_two(
    int n, double c_x, double s_x, const double *restrict x, double c_y, double s_y, const double *restrict y,
    double *restrict c, double *restrict s)
{
    for (int i = 0; i < n; i++) {
        c[i] += c_x * x[i] + c_y * y[i];
        s[i] += s_x * x[i] * x[i] + s_y * y[i] * y[i];
    }
}

/* s, but at least a tiny part of chi; closed where something is set. */
EACH_PROCESSOR static void open_features(
    int n, double least, const double *restrict chi, const double *restrict s, const unsigned char *restrict closed,
    double *restrict open_s)
{
    for (int i = 0; i < n; i++) {
        double d = least * chi[i], here = s[i] > d ? s[i] : d;
        open_s[i] = closed[i] ? CLOSED : here;
    }
}

/* x over d = (1 + ridge) chi. */
EACH_PROCESSOR static void divide_by_d(int n, double ridge, const double *restrict chi, double *restrict x)
{
    for (int i = 0; i < n; i++)
        x[i] /= (1.0 + ridge) * chi[i];
}

/* Whether any (c + slope g)^2 / (s + weight g^2) is above a bound. */
INLINE int any_gain(
    int n, double bound, double slope, double weight, const double *restrict c, const double *restrict s,
    const double *restrict g)
{
    int count = 0;
#pragma omp simd reduction(+ : count)
    for (int i = 0; i < n; i++) {
        double add = c[i] + slope * g[i];
        count += add * add > bound * (s[i] + weight * g[i] * g[i]);
    }
    return count > 0;
}

EACH_PROCESSOR static int gains(
    int n, double bound, double slope, double weight, const double *restrict c, const double *restrict s,
    const double *restrict g)
{
    return any_gain(n, bound, slope, weight, c, s, g);
}

/* The first feature from j on of which that is true, and which is open; n if there is none. */
EACH_PROCESSOR static int next_gain(
    int j, int n, double bound, double slope, double weight, const double *restrict c, const double *restrict s,
    const double *restrict g)
{
    while (j < n) {
        int end = j + 32 < n ? j + 32 : n;
        if (any_gain(end - j, bound, slope, weight, c + j, s + j, g + j))
            for (; j < end; j++) {
                double add = c[j] + slope * g[j];
                if (s[j] < CLOSED && add * add > bound * (s[j] + weight * g[j] * g[j]))
                    return j;
            }
        j = end;
    }
    return n;
}

/* The least that F could change by each addition, infinite for those that are closed; and the smallest of all. Additions
   explain c^2/s, and log(1 - x) is at least -x/(1 - x), which spares a logarithm for most. */
EACH_PROCESSOR static double least_changes(
    int n, double half_n, double noise, const double *restrict gamma, const double *restrict c,
    const double *restrict s, double *restrict out)
{
    double smallest = INFINITY;
#pragma omp simd reduction(min : smallest)
    for (int i = 0; i < n; i++) {
        double gained = c[i] * c[i], left = noise * s[i] - gained; /* both in units of s */
        double change = left > 0.0 ? -half_n * gained / left - gamma[i] : -INFINITY;
        out[i] = s[i] < CLOSED ? change : INFINITY;
        smallest = out[i] < smallest ? out[i] : smallest;
    }
    return smallest;
}

/* The noise that one feature leaves together with each of others, times what the prior has against both; and the least of
   all. z are the correlations with y, in units of `scale`, the features' roots of d. */
EACH_PROCESSOR static double noises_of_pairs(
    int n, double sigma2_y, double least_noise, double copies, double one_scale, double one_z, double one_against,
    const double *restrict products, const double *restrict scale, const double *restrict z,
    const double *restrict against, double *restrict out)
{
    double least = INFINITY;
#pragma omp simd reduction(min : least)
    for (int j = 0; j < n; j++) {
        double r = products[j] * one_scale * scale[j], apart = 1.0 - r * r;
        double explained = (one_z * one_z + z[j] * z[j] - 2.0 * r * one_z * z[j]) / apart;
        double noise = sigma2_y - (apart < copies ? 0.0 : explained);
        noise = (noise > least_noise ? noise : least_noise) * one_against * against[j];
        out[j] = noise;
        least = noise < least ? noise : least;
    }
    return least;
}

#endif
