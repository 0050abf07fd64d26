// LMS (survey, eq. 2), w <- w + step e x; normalized: divided by eps + x'x.
// w (m, d, r), steps (n,) and eps (m,), or one of each.
// The shared memory holds d r + d + LANES (r + 1) + r + 1 numbers.
ENTRY learn_gradients(REAL* w, ROWS, const REAL* steps, REAL shared_step, const REAL* eps, REAL shared_eps, NOTES,
                      int normalized, REAL smallest, REAL largest) {
    MEMORY(memory, room);
    const long long j = MEMBER;
    if (j >= members) return;
    const long long first = first_row(bounds, rows_each, j), end = end_of_rows(bounds, rows_each, j);
    REAL *W = memory, *x = W + d * r, *partial = x + d, *z = partial + LANES * (r + 1), *flag = z + r;
    const REAL added = value_of(eps, shared_eps, j);
    copy(W, w + j * d * r, d * r);
    long long row = first;
    for (; row < end; row++) {
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
        if (normalized) energy = added + sum_lanes(partial + r * LANES);
        if (normalized && !(smallest < energy && energy <= largest)) {  // a square that over- or underflows
            size = 0;
            for (int i = 0; i < d; i++) size = larger(size, fabs(x[i]));
            energy = size > 0 ? added / size / size : 1;
            for (int i = 0; size > 0 && i < d; i++) energy += x[i] / size * (x[i] / size);
        }
        const bool is_zero = size == 0;  // a row of zeros changes nothing
        // 1 / size may be subnormal, which is zero on a device in float32: numbers are divided by size itself
        const REAL gain = is_zero ? 0 : value_of(steps, shared_step, row) / energy, unit = is_zero ? 1 : size;
        EACH(i, d) for (int c = 0; c < r; c++) {
            if (!isfinite(W[i * r + c] + z[c] / unit * gain * (x[i] / unit))) flag[0] = 0;
        }
        BARRIER;
        if (flag[0] == 0) break;
        EACH(i, d) for (int c = 0; c < r; c++) W[i * r + c] += z[c] / unit * gain * (x[i] / unit);
    }
    copy(w + j * d * r, W, d * r);
    FIRST_THREAD note_rows(j, first, row, end, learned, happened);
}
