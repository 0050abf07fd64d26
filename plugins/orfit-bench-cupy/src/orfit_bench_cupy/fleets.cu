// Learn the rows of many learners: a block of threads for each member, one launch for all rows of a call.
//
// Member j of the call has the rows starts[j] to starts[j + 1] of X (n, d) and Y (n, r), and learns them in order. It
// stops before a row whose step would not be finite or has too few digits left; learned[j] counts the rows before it.
// Every sum has one order, whatever the number of threads, and every thread of a block computes the same verdicts from
// shared numbers, so that all threads take the same branches.
//
// REAL is float or double. A host compiler, which the tests use, defines ENTRY and the macros below for a block of a
// single thread: EACH then is a loop over all entries, and BARRIER is empty.

#ifndef ENTRY
#define ENTRY extern "C" __global__ void
#define SHARED(memory)                        \
    extern __shared__ double block_memory[];  \
    REAL* memory = (REAL*)block_memory
#define BLOCK ((long long)blockIdx.x)
#define EACH(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)
#define FIRST_THREAD if (threadIdx.x == 0)
#define BARRIER __syncthreads()
#define DEVICE __device__
#endif

// Partial sums of a product of vectors: partial l adds up the entries l, l + LANES, ...
#define LANES 32

DEVICE inline REAL larger(REAL a, REAL b) { return a > b ? a : b; }

DEVICE inline REAL sum_lanes(const REAL* partial) {
    REAL sum = 0;
    for (int l = 0; l < LANES; l++) sum += partial[l];
    return sum;
}

// Recursive least squares (survey, eq. 11 and 12), as orfit_bench_numba/_sequential_rls.py:
// s = ff + x'P x,  w <- w + P x e / s,  P <- (P - P x x'P / s) / ff.
// P (m, d, d), w (m, d, r), factors (m,). The shared memory holds d r + 3 d + r + 1 numbers, and P if keeps_p.
ENTRY learn_covariances(REAL* P, REAL* w, const REAL* X, const REAL* Y, const long long* starts, const REAL* factors,
                        long long* learned, long long* degraded, REAL* out, int predicts, int d, int r, int keeps_p,
                        REAL eps, REAL third, REAL largest) {
    SHARED(memory);
    const long long j = BLOCK;
    REAL *W = memory, *x = W + d * r, *u = x + d, *v = u + d, *z = v + d, *flag = z + r;
    REAL *own = P + j * d * d, *Q = keeps_p ? flag + 1 : own;
    const REAL ff = factors[j], half = sqrt(eps), max_error = ff < 1 ? (REAL)0.01 : (REAL)1;
    if (keeps_p) EACH(k, d * d) Q[k] = own[k];
    EACH(k, d * r) W[k] = w[j * d * r + k];
    long long row = starts[j];
    int lost = 0;
    for (; row < starts[j + 1]; row++) {
        EACH(i, d) x[i] = X[row * d + i];
        FIRST_THREAD flag[0] = 1;
        BARRIER;
        EACH(i, d) {  // u = P x, from the columns of the symmetric P; v: the largest share of each entry in x'P x
            REAL sum = 0;
            for (int k = 0; k < d; k++) sum += Q[k * d + i] * x[k];
            u[i] = sum;
            v[i] = fabs(x[i]) * sqrt(fabs(Q[i * d + i]));
        }
        EACH(c, r) {  // z = e
            REAL f = 0;
            for (int i = 0; i < d; i++) f += x[i] * W[i * r + c];
            if (predicts) out[row * r + c] = f;
            z[c] = Y[row * r + c] - f;
        }
        BARRIER;
        REAL variance = 0, reach = 0, widest = 0, highest = -largest;
        for (int i = 0; i < d; i++) {
            variance += x[i] * u[i];
            reach += v[i];
            widest = larger(widest, fabs(Q[i * d + i]));
        }
        const REAL s = ff + variance, gain = 1 / sqrt(s);
        for (int i = 0; i < d; i++) highest = larger(highest, Q[i * d + i] - u[i] * gain * (u[i] * gain));
        const REAL rounded = eps * (reach * reach / s), cancelled = eps * s / ff;
        const bool accurate = s > 0 && s >= ff * (1 - half) && rounded <= max_error && cancelled <= max_error;
        EACH(i, d) for (int c = 0; c < r; c++) {
            if (!isfinite(W[i * r + c] + z[c] * gain * (u[i] * gain))) flag[0] = 0;
        }
        BARRIER;
        if (!accurate || !(highest / ff < largest / 4) || flag[0] == 0) break;
        EACH(i, d) {  // v = P x / sqrt(s)
            v[i] = u[i] * gain;
            for (int c = 0; c < r; c++) W[i * r + c] += z[c] * gain * v[i];
        }
        BARRIER;
        const REAL by = 1 / ff;
        EACH(k, d) for (int i = 0; i < d; i++) Q[i * d + k] = (Q[i * d + k] - v[i] * v[k]) * by;
        if (rounded > half || cancelled > third || widest > sqrt(largest)) lost = 1;
        BARRIER;
    }
    if (keeps_p) EACH(k, d * d) own[k] = Q[k];
    EACH(k, d * r) w[j * d * r + k] = W[k];
    FIRST_THREAD {
        learned[j] = row - starts[j];
        degraded[j] = lost;
    }
}

// LMS (survey, eq. 2), w <- w + step e x; normalized: divided by eps + x'x. w (m, d, r), steps (n,), eps (m,).
// The shared memory holds d r + d + LANES (r + 1) + r + 1 numbers.
ENTRY learn_gradients(REAL* w, const REAL* X, const REAL* Y, const long long* starts, const REAL* steps,
                      const REAL* eps, long long* learned, REAL* out, int predicts, int d, int r, int normalized,
                      REAL smallest, REAL largest) {
    SHARED(memory);
    const long long j = BLOCK;
    REAL *W = memory, *x = W + d * r, *partial = x + d, *z = partial + LANES * (r + 1), *flag = z + r;
    EACH(k, d * r) W[k] = w[j * d * r + k];
    long long row = starts[j];
    for (; row < starts[j + 1]; row++) {
        EACH(i, d) x[i] = X[row * d + i];
        FIRST_THREAD flag[0] = 1;
        BARRIER;
        EACH(l, LANES) for (int c = 0; c <= r; c++) {
            REAL sum = 0;
            for (int i = l; i < d; i += LANES) sum += x[i] * (c < r ? W[i * r + c] : x[i]);
            partial[c * LANES + l] = sum;
        }
        BARRIER;
        EACH(c, r) {
            const REAL f = sum_lanes(partial + c * LANES);
            if (predicts) out[row * r + c] = f;
            z[c] = Y[row * r + c] - f;
        }
        BARRIER;
        REAL energy = 1, size = 1;  // eps + x'x is energy size^2
        if (normalized) energy = eps[j] + sum_lanes(partial + r * LANES);
        if (normalized && !(smallest < energy && energy <= largest)) {  // a square that over- or underflows
            size = 0;
            for (int i = 0; i < d; i++) size = larger(size, fabs(x[i]));
            energy = size > 0 ? eps[j] / size / size : 1;
            for (int i = 0; size > 0 && i < d; i++) energy += x[i] / size * (x[i] / size);
        }
        const bool is_zero = size == 0;  // a row of zeros changes nothing
        const REAL gain = is_zero ? 0 : steps[row] / energy, by = is_zero ? 1 : 1 / size;
        EACH(i, d) for (int c = 0; c < r; c++) {
            if (!isfinite(W[i * r + c] + z[c] * by * gain * (size == 1 ? x[i] : x[i] * by))) flag[0] = 0;
        }
        BARRIER;
        if (flag[0] == 0) break;
        EACH(i, d) for (int c = 0; c < r; c++) W[i * r + c] += z[c] * by * gain * (size == 1 ? x[i] : x[i] * by);
        BARRIER;
    }
    EACH(k, d * r) w[j * d * r + k] = W[k];
    FIRST_THREAD learned[j] = row - starts[j];
}
