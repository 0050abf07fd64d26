// Recursive least squares (survey, eq. 11 and 12), as orfit_bench_numba/_sequential_rls.py:
// s = ff + x'P x,  w <- w + P x e / s,  P <- (P - P x x'P / s) / ff.
// P (m, d, d), w (m, d, r), factors (m,) or one. The shared memory holds d r + 3 d + r + 1 numbers, and P if keeps_p.
ENTRY learn_covariances(REAL* P, REAL* w, ROWS, const REAL* factors, REAL shared_factor, long long* degraded, NOTES,
                        int keeps_p, REAL eps, REAL third, REAL largest) {
    MEMORY(memory, room);
    const long long j = MEMBER;
    if (j >= members) return;
    const long long first = first_row(bounds, rows_each, j), end = end_of_rows(bounds, rows_each, j);
    REAL *W = memory, *x = W + d * r, *u = x + d, *v = u + d, *z = v + d, *flag = z + r;
    REAL *own = P + j * d * d, *Q = keeps_p ? flag + 1 : own;
    const REAL ff = value_of(factors, shared_factor, j), half = sqrt(eps), max_error = ff < 1 ? (REAL)0.01 : (REAL)1;
    if (keeps_p) copy(Q, own, d * d);
    copy(W, w + j * d * r, d * r);
    long long row = first;
    int lost = 0;
    for (; row < end; row++) {
        EACH(i, d) x[i] = X[row * d + i];
        EACH(c, r) z[c] = Y[row * r + c];
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
            z[c] -= f;
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
    if (keeps_p) copy(own, Q, d * d);
    copy(w + j * d * r, W, d * r);
    FIRST_THREAD {
        note_rows(j, first, row, end, learned, happened);
        degraded[j] = lost;
        if (lost) happened[LOST_DIGITS] = 1;
    }
}
