// LMS (survey, eq. 2), w <- w + step e x; normalized: divided by eps + x'x. w (m, d, r), steps (n,), eps (m,).
// The shared memory holds d r + d + LANES (r + 1) + r + 1 numbers.
ENTRY learn_gradients(REAL* w, const REAL* X, const REAL* Y, const long long* bounds, const REAL* steps,
                      const REAL* eps, long long* learned, int* happened, REAL* out, int predicts, int d, int r,
                      int normalized, REAL smallest, REAL largest) {
    SHARED(memory);
    const long long j = BLOCK;
    REAL *W = memory, *x = W + d * r, *partial = x + d, *z = partial + LANES * (r + 1), *flag = z + r;
    EACH(k, d * r) W[k] = w[j * d * r + k];
    long long row = bounds[2 * j];
    for (; row < bounds[2 * j + 1]; row++) {
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
        // 1 / size may be subnormal, which is zero on a device in float32: numbers are divided by size itself
        const REAL gain = is_zero ? 0 : steps[row] / energy, unit = is_zero ? 1 : size;
        EACH(i, d) for (int c = 0; c < r; c++) {
            if (!isfinite(W[i * r + c] + z[c] / unit * gain * (x[i] / unit))) flag[0] = 0;
        }
        BARRIER;
        if (flag[0] == 0) break;
        EACH(i, d) for (int c = 0; c < r; c++) W[i * r + c] += z[c] / unit * gain * (x[i] / unit);
        BARRIER;
    }
    EACH(k, d * r) w[j * d * r + k] = W[k];
    FIRST_THREAD note_rows(bounds, j, row, learned, happened);
}
