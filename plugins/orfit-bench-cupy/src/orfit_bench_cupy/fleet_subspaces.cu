// Oja's rule (Krasulina paper, after eq. 9), as orfit_bench_numba/_orthonormal_row.py: C <- QR(C + step y c'), c = C'y.
// For an orthonormal C, (C + step y c')'(C + step y c') = I + growth c c', whose Cholesky factor is applied to a row of C
// by one running sum. C (m, d, k), steps (n,) or one, done (m,) the steps before these rows. Stops before a row that
// would lose digits and before one in `period`, so that the host removes the accumulated rounding.
// The shared memory holds 4 k + d + LANES (k + 1) numbers, and C if keeps_c.
ENTRY learn_subspaces(REAL* C, ROWS, const REAL* steps, REAL shared_step, const long long* done, long long shared_done,
                      NOTES, int k, int keeps_c, int period, REAL largest_growth) {
    MEMORY(memory, room);
    const long long j = MEMBER;
    if (j >= members) return;
    const long long first = first_row(bounds, rows_each, j), end = end_of_rows(bounds, rows_each, j);
    REAL *c = memory, *keep = c + k, *add = keep + k, *scale = add + k, *y = scale + k, *partial = y + d;
    REAL *own = C + j * d * k, *B = keeps_c ? partial + LANES * (k + 1) : own;
    if (keeps_c) copy(B, own, d * k);
    long long row = first;
    for (; row < end; row++) {
        const long long before = value_of(done, shared_done, j) + row - first;
        if (before > 0 && before % period == 0) break;
        const REAL step = value_of(steps, shared_step, row);
        EACH(i, d) y[i] = X[row * d + i];
        BARRIER;
        EACH(q, LANES * (k + 1)) {  // the products of y with the columns of C, and with itself
            const int a = q / LANES;
            REAL sum = 0;
            for (int i = q % LANES; i < d; i += LANES) sum += y[i] * (a < k ? B[i * k + a] : y[i]);
            partial[q] = sum;
        }
        BARRIER;
        EACH(a, k) c[a] = sum_lanes(partial + a * LANES);
        BARRIER;
        const REAL energy = sum_lanes(partial + k * LANES);
        REAL size = 0, growth = step * (2 + step * energy);
        for (int a = 0; a < k; a++) size += c[a] * c[a];
        if (!(growth * size < largest_growth)) break;
        FIRST_THREAD {
            for (int a = 0; a < k; a++) {
                const REAL grown = 1 + growth * c[a] * c[a];
                scale[a] = 1 / sqrt(grown);
                keep[a] = 1 / grown;
                add[a] = growth * c[a] / grown;
                growth /= grown;
            }
        }
        BARRIER;
        EACH(i, d) {
            const REAL gain = step * y[i];
            REAL total = 0;
            for (int a = 0; a < k; a++) {
                const REAL v = B[i * k + a] + gain * c[a];
                B[i * k + a] = (v - c[a] * total) * scale[a];
                total = keep[a] * total + add[a] * v;
            }
        }
        BARRIER;
    }
    if (keeps_c) copy(own, B, d * k);
    FIRST_THREAD note_rows(j, first, row, end, learned, happened);
}
