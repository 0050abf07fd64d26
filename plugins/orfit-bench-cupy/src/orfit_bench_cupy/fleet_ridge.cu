// Ridge regression in information form (survey, eq. 10), as orfit_bench_numba/_ridge_rows.py:
// L <- ff L + weight x x', its lower triangle,  m <- ff m + weight x y'.
// L (m, d, d), moment (m, d, r), factors (m,) and weights (n,), or one of each; a factor above 1 is in the weights.
// The shared memory holds d r + d + 1 numbers, and L if keeps_l.
ENTRY learn_information(REAL* L, REAL* moment, ROWS, const REAL* factors, REAL shared_factor, const REAL* weights,
                        REAL shared_weight, NOTES, int keeps_l) {
    MEMORY(memory, room);
    const long long j = MEMBER;
    if (j >= members) return;
    const long long first = first_row(bounds, rows_each, j), end = end_of_rows(bounds, rows_each, j);
    REAL *M = memory, *x = M + d * r, *flag = x + d, *own = L + j * d * d, *S = keeps_l ? flag + 1 : own;
    const REAL ff = value_of(factors, shared_factor, j), keep = ff < 1 ? ff : 1;
    if (keeps_l) copy(S, own, d * d);
    copy(M, moment + j * d * r, d * r);
    long long row = first;
    for (; row < end; row++) {
        const REAL weight = value_of(weights, shared_weight, row), *y = Y + row * r;
        EACH(i, d) x[i] = X[row * d + i];
        FIRST_THREAD flag[0] = 1;
        BARRIER;
        EACH(i, d) {
            if (!isfinite(keep * S[i * d + i] + weight * x[i] * x[i])) flag[0] = 0;
            for (int c = 0; c < r; c++) {
                if (!isfinite(keep * M[i * r + c] + weight * x[i] * y[c])) flag[0] = 0;
            }
        }
        BARRIER;
        if (flag[0] == 0) break;
        EACH(k, d) {
            for (int i = k; i < d; i++) S[i * d + k] = keep * S[i * d + k] + weight * x[i] * x[k];
            for (int c = 0; c < r; c++) M[k * r + c] = keep * M[k * r + c] + weight * x[k] * y[c];
        }
        BARRIER;
    }
    if (keeps_l) copy(own, S, d * d);
    copy(moment + j * d * r, M, d * r);
    FIRST_THREAD note_rows(j, first, row, end, learned, happened);
}
