/* Loops over all features that the processor's vector units take several at a time.

   Compiled for each of the common x86 instruction sets where the compiler can do that (GCC with glibc); the one that the
   machine has is chosen when the library is loaded. Elsewhere they are plain loops. */

#ifndef GARROTE_VECTORS_H
#define GARROTE_VECTORS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#define restrict __restrict
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__GLIBC__)
#define PROCESSORS
#define EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EACH_PROCESSOR
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline)) /* into each of them */
#else
#define INLINE static inline
#endif

/* Ask for memory that is needed soon, while something else is computed. */
INLINE void fetch_ahead(const void *from, size_t size)
{
#if defined(__GNUC__)
    for (size_t at = 0; at < size; at += 64)
        __builtin_prefetch((const char *)from + at);
#endif
}

/* e^x for x <= 0, to the last digit or two; 0 below -708. */
INLINE double exponential(double x)
{
    double bounded = x < -708.0 ? -708.0 : x;
    double shifted = bounded * 1.4426950408889634 + 6755399441055744.0; /* its last bits are those of round(x/log 2) */
    double n = shifted - 6755399441055744.0;
    double r = (bounded - n * 0.6931471803691238) - n * 1.9082149292705877e-10;
    double r2 = r * r, r4 = r2 * r2, power;
    int64_t bits;
    memcpy(&bits, &shifted, 8);
    bits = (int64_t)((uint64_t)(bits + 1023) << 52);
    memcpy(&power, &bits, 8);
    power *= ((1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0)))
        + r4 * ((1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0)))
        + (r4 * r4) * ((1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
            + r4 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0)));
    return x < -708.0 ? 0.0 : power;
}

/* 1/(1 + e^-x), without overflow. */
INLINE double sigmoid(double x)
{
    double e = exponential(x < 0.0 ? x : -x), larger = 1.0 / (1.0 + e);
    return x < 0.0 ? e * larger : larger;
}

INLINE double larger_of(double a, double b)
{
    return a > b ? a : b;
}

/* m = 1/(1 + e^-theta), without overflow, most = max(m, 1 - m) and v = m w. */
EACH_PROCESSOR static void sigmoids(
    int n, const double *restrict theta, const double *restrict w, double *restrict m, double *restrict most,
    double *restrict v)
{
    for (int i = 0; i < n; i++) {
        double x = theta[i], e = exponential(x < 0.0 ? x : -x), larger = 1.0 / (1.0 + e);
        most[i] = larger;
        m[i] = x < 0.0 ? e * larger : larger;
        v[i] = m[i] * w[i];
    }
}

/* The product of numbers between 1/2 and 1, at most 1000 of them. */
EACH_PROCESSOR static double product(int n, const double *restrict x)
{
    double all = 1.0;
#pragma omp simd reduction(* : all)
    for (int i = 0; i < n; i++)
        all *= x[i];
    return all;
}

/* What is left of w's equations, R = c + chi v - d w; the variance of the s w, and their part of F but for log(most). */
EACH_PROCESSOR static void left_over(
    int n, double ridge, const double *restrict chi, const double *restrict gamma, const double *restrict theta,
    const double *restrict m, const double *restrict w, const double *restrict v, const double *restrict c,
    double *restrict R, double *variance, double *bernoulli)
{
    double spread = 0.0, entropy = 0.0;
#pragma omp simd reduction(+ : spread, entropy)
    for (int i = 0; i < n; i++) {
        double d = (1.0 + ridge) * chi[i];
        R[i] = c[i] + chi[i] * v[i] - d * w[i];
        spread += (d - m[i] * chi[i]) * v[i] * w[i];
        entropy += m[i] * (theta[i] - gamma[i]) - larger_of(theta[i], 0.0);
    }
    *variance = spread;
    *bernoulli = entropy;
}

/* The largest residual of Eq. (m), to first order in R; and of w's equation, in units of w's own deviation. */
EACH_PROCESSOR static double largest_residual(
    int n, double ridge, double kappa, const double *restrict chi, const double *restrict per_chi,
    const double *restrict gamma, const double *restrict theta, const double *restrict m, const double *restrict w,
    const double *restrict R, double *of_w)
{
    double worst = 0.0, farthest = 0.0, of_d = kappa / (1.0 + ridge);
#pragma omp simd reduction(max : worst, farthest)
    for (int i = 0; i < n; i++) {
        double aim = gamma[i] + kappa * w[i] * ((1.0 + ridge) * chi[i] * w[i] + 2.0 * R[i]);
        double off = aim > theta[i] ? aim - theta[i] : theta[i] - aim;
        double here = m[i] * (1.0 - m[i]) * off * larger_of(off, 1.0);
        double shift = R[i] * R[i] * (of_d * per_chi[i]) * m[i];
        worst = here > worst ? here : worst;
        farthest = shift > farthest ? shift : farthest;
    }
    *of_w = sqrt(farthest);
    return worst;
}

/* v' = dv/dw, q = dv/dkappa, t = the change of v that theta's equation, of which rho is left, asks for; sums of d w m q/v',
   d w m t/v' and m (1 - m) rho^2. */
EACH_PROCESSOR static void slopes(
    int n, double ridge, double kappa, const double *restrict chi, const double *restrict gamma,
    const double *restrict theta, const double *restrict m, const double *restrict w, double *restrict slope,
    double *restrict q, double *restrict t, double *with_q, double *with_t, double *with_rho)
{
    double sum_q = 0.0, sum_t = 0.0, sum_rho = 0.0;
#pragma omp simd reduction(+ : sum_q, sum_t, sum_rho)
    for (int i = 0; i < n; i++) {
        double d = (1.0 + ridge) * chi[i], spread = m[i] * (1.0 - m[i]), dw = d * w[i], evidence = kappa * dw * w[i];
        double rho = gamma[i] + evidence - theta[i], part;
        slope[i] = m[i] + 2.0 * spread * evidence;
        q[i] = spread * dw * w[i] * w[i];
        t[i] = spread * w[i] * rho;
        part = dw * (1.0f / (float)(1.0 + 2.0 * (1.0 - m[i]) * evidence)); /* d w m/v', as exactly as Newton's step needs */
        sum_q += part * q[i];
        sum_t += part * t[i];
        sum_rho += spread * rho * rho;
    }
    *with_q = sum_q;
    *with_t = sum_t;
    *with_rho = sum_rho;
}

/* How many of x are above a bound. */
EACH_PROCESSOR static int count_above(int n, double bound, const double *restrict x)
{
    int count = 0;
#pragma omp simd reduction(+ : count)
    for (int i = 0; i < n; i++)
        count += x[i] > bound;
    return count;
}

/* How many elements of a and b differ in sign, and by more than that. */
EACH_PROCESSOR static int count_jumps(int n, double least, const double *restrict a, const double *restrict b)
{
    int count = 0;
#pragma omp simd reduction(+ : count)
    for (int i = 0; i < n; i++) {
        double apart = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        count += ((a[i] > 0.0) != (b[i] > 0.0)) & (apart > least);
    }
    return count;
}

/* The sums of the x up to 1/2 and of those above. */
EACH_PROCESSOR static void masses(int n, const double *restrict x, double *weak, double *strong)
{
    double below = 0.0, above = 0.0;
#pragma omp simd reduction(+ : below, above)
    for (int i = 0; i < n; i++) {
        below += x[i] > 0.5 ? 0.0 : x[i];
        above += x[i] > 0.5 ? x[i] : 0.0;
    }
    *weak = below;
    *strong = above;
}

/* out = near + first (near - far) + second (far - farther) + shift, but at most so far from near. */
EACH_PROCESSOR static void extrapolate(
    int n, double first, double second, double shift, double most, const double *restrict near,
    const double *restrict far, const double *restrict farther, double *restrict out)
{
    for (int i = 0; i < n; i++) {
        double step = first * (near[i] - far[i]) + second * (far[i] - farther[i]) + shift;
        step = step > most ? most : step;
        out[i] = near[i] + (step < -most ? -most : step);
    }
}

/* The largest |x y|. */
EACH_PROCESSOR static double largest_product(int n, const double *restrict x, const double *restrict y)
{
    double most = 0.0;
#pragma omp simd reduction(max : most)
    for (int i = 0; i < n; i++) {
        double product = fabs(x[i]) * y[i];
        most = product > most ? product : most;
    }
    return most;
}

/* e^(gamma + kappa (z + moved)^2), but at most 1; their weighted sum, and that of their products with z^2. */
EACH_PROCESSOR static void count_included(
    int n, double gamma, double kappa, double moved, const double *restrict z, const double *restrict weight,
    double *restrict inclusion, double *mass, double *evidence)
{
    double sum = 0.0, squares = 0.0;
#pragma omp simd reduction(+ : sum, squares)
    for (int i = 0; i < n; i++) {
        double farther = z[i] + moved, theta = gamma + kappa * (farther * farther);
        inclusion[i] = exponential(theta < 0.0 ? theta : 0.0);
        sum += weight[i] * inclusion[i];
        squares += weight[i] * inclusion[i] * (z[i] * z[i]);
    }
    *mass = sum;
    *evidence = squares;
}

/* x.(y + z) */
EACH_PROCESSOR static double product_with_sum(
    int n, const double *restrict x, const double *restrict y, const double *restrict z)
{
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (int i = 0; i < n; i++)
        total += x[i] * (y[i] + z[i]);
    return total;
}

/* The largest v' = dv/dw. */
EACH_PROCESSOR static double largest_slope(
    int n, double ridge, double kappa, const double *restrict chi, const double *restrict m, const double *restrict w)
{
    double largest = 0.0;
#pragma omp simd reduction(max : largest)
    for (int i = 0; i < n; i++) {
        double slope = m[i] + 2.0 * m[i] * (1.0 - m[i]) * kappa * (1.0 + ridge) * chi[i] * w[i] * w[i];
        largest = slope > largest ? slope : largest;
    }
    return largest;
}

/* w and the goals that belong to v, of which nothing is left over then; returns the residual of Eq. (m). */
EACH_PROCESSOR static double finish_point(
    int n, double ridge, double kappa, double theta_max, const double *restrict chi, const double *restrict per_chi,
    const double *restrict gamma, const double *restrict theta, const double *restrict m, double *restrict R,
    double *restrict w, double *restrict goal)
{
    double worst = 0.0, per = 1.0 / (1.0 + ridge);
#pragma omp simd reduction(max : worst)
    for (int i = 0; i < n; i++) {
        double d = (1.0 + ridge) * chi[i], there = w[i] + R[i] * (per * per_chi[i]), off, by;
        double aim = gamma[i] + kappa * d * there * there;
        aim = aim < theta_max ? aim : theta_max;
        off = aim > theta[i] ? aim - theta[i] : theta[i] - aim;
        by = sigmoid(aim) - m[i];
        by = (by < 0.0 ? -by : by) * larger_of(off, 1.0);
        w[i] = there;
        R[i] = 0.0;
        goal[i] = aim;
        worst = by > worst ? by : worst;
    }
    return worst;
}

/* Newton's step of w and theta, from where they are; image = R less what the others' change of v takes from c, and becomes
   the change of w. A feature that is sure, and becomes more so, may go as far as it likes; others by no more than is trusted. */
EACH_PROCESSOR static void newton_step(
    int n, double ridge, double kappa, double kappa_change, double trust, double sure, double theta_max,
    const double *restrict chi, const double *restrict per_chi, const double *restrict gamma, double *restrict theta,
    double *restrict w, double *restrict image, double *restrict step)
{
    double per = 1.0 / (1.0 + ridge);
    for (int i = 0; i < n; i++) {
        double change = image[i] * (per * per_chi[i]), dw = (1.0 + ridge) * chi[i] * w[i], x = theta[i];
        double aim = gamma[i] + kappa * dw * (w[i] + 2.0 * change) + dw * w[i] * kappa_change;
        double low = x < -sure ? -1e300 : -trust, high = x > sure ? 1e300 : trust;
        double by = (aim < theta_max ? aim : theta_max) - x;
        by = by < low ? low : by;
        by = by > high ? high : by;
        step[i] = by;
        image[i] = change;
        theta[i] = x + by;
        w[i] += change;
    }
}

/* w += change/d */
EACH_PROCESSOR static void change_w(
    int n, double ridge, const double *restrict per_chi, const double *restrict change, double *restrict w)
{
    double per = 1.0 / (1.0 + ridge);
    for (int i = 0; i < n; i++)
        w[i] += change[i] * (per * per_chi[i]);
}

/* out = start + length step. */
EACH_PROCESSOR static void go(
    int n, double length, const double *restrict start, const double *restrict step, double *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = start[i] + length * step[i];
}

/* The step of theta to Eq. (m). */
EACH_PROCESSOR static void fixed_point_step(
    int n, double ridge, double kappa, double theta_max, const double *restrict chi, const double *restrict per_chi,
    const double *restrict gamma, const double *restrict theta, const double *restrict w, const double *restrict R,
    double *restrict step)
{
    double per = 1.0 / (1.0 + ridge);
    for (int i = 0; i < n; i++) {
        double there = w[i] + R[i] * (per * per_chi[i]), aim = gamma[i] + kappa * (1.0 + ridge) * chi[i] * there * there;
        step[i] = (aim < theta_max ? aim : theta_max) - theta[i];
    }
}

/* The weighted mean and variance of x, and what is left of its product with e where the mean is removed; the second look
   removes the rounding of a large mean. `total` is the sum of e, which may be NULL. */
#define MOMENTS(NAME, REAL)                                                                                               \
    EACH_PROCESSOR static void NAME(                                                                                      \
        int n, const REAL *restrict x, const double *restrict weights, const double *restrict e, double total,            \
        double *mean, double *variance, double *product)                                                                  \
    {                                                                                                                     \
        double sum = 0.0, rest = 0.0, squares = 0.0, along = 0.0;                                                         \
        _Pragma("omp simd reduction(+ : sum)") for (int i = 0; i < n; i++) sum += weights[i] * x[i];                      \
        if (!e) {                                                                                                         \
            _Pragma("omp simd reduction(+ : rest, squares)") for (int i = 0; i < n; i++)                                  \
            {                                                                                                             \
                double away = x[i] - sum, weighted = weights[i] * away;                                                   \
                rest += weighted;                                                                                         \
                squares += weighted * away;                                                                               \
            }                                                                                                             \
        } else {                                                                                                          \
            _Pragma("omp simd reduction(+ : rest, squares, along)") for (int i = 0; i < n; i++)                           \
            {                                                                                                             \
                double away = x[i] - sum, weighted = weights[i] * away;                                                   \
                rest += weighted;                                                                                         \
                squares += weighted * away;                                                                               \
                along += e[i] * away;                                                                                     \
            }                                                                                                             \
            *product = along - rest * total;                                                                              \
        }                                                                                                                 \
        *mean = sum + rest;                                                                                               \
        *variance = squares - rest * rest;                                                                                \
    }
MOMENTS(moments_single, float)
MOMENTS(moments_double, double)

/* Columns of n rows, less their means, times the scale of each row. */
EACH_PROCESSOR static void centre(
    int n, int n_columns, const double *restrict mean, const double *restrict scale, double *restrict columns)
{
    for (int j = 0; j < n_columns; j++)
        for (int i = 0; i < n; i++)
            columns[(size_t)j * n + i] = (columns[(size_t)j * n + i] - mean[j]) * scale[i];
}

/* What features outside the working set do in response to a residual, of which products are their inner products: c, centred
   and adjusted, and v = m w, but zero for those inside and those with an inclusion above entry. Adds to the sums of
   v c - v^2 chi, m, the Bernoulli part of F, and v c. */
EACH_PROCESSOR static void respond(
    int n, double total, double scale, double mixing, double kappa, double ridge, double entry,
    const double *restrict products, const double *restrict x_mean, const double *restrict chi,
    const unsigned char *restrict inside, const double *restrict own, const double *restrict old,
    const double *restrict prior, double *restrict c, double *restrict v, double *restrict sums)
{
    double spread = 0.0, mass = 0.0, bernoulli = 0.0, explained = 0.0;
#pragma omp simd reduction(+ : spread, mass, bernoulli, explained)
    for (int i = 0; i < n; i++) {
        double corr = mixing * (products[i] - total * x_mean[i] + chi[i] * scale * own[i]) + (1.0 - mixing) * old[i];
        double w = inside[i] ? 0.0 : corr / chi[i], evidence = kappa * corr * w, m = sigmoid(prior[i] + evidence);
        m = inside[i] || m > entry ? 0.0 : m;
        w *= m / (1.0 + ridge);
        c[i] = corr;
        v[i] = w;
        explained += w * corr;
        spread += w * (corr - w * chi[i]);
        mass += m;
        bernoulli += m * evidence
            - m * (1.0 + m * (0.5 + m * (1.0 / 3.0 + m * (0.25 + m * (0.2 + m / 6.0)))));
    }
    sums[0] += spread;
    sums[1] += mass;
    sums[2] += bernoulli;
    sums[3] += explained;
}

#endif
