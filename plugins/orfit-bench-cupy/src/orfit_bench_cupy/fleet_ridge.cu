// Ridge regression in information form (survey, eq. 9), as orfit_bench_numba/_ridge_rows.py:
// L <- kept L + weight x x', its lower triangle,  m <- kept m + weight x y'.
// L (m, d, d), moment (m, d, r), kept (m,), weights (n,). The shared memory holds d r + d + 1 numbers, and L if keeps_l.
ENTRY learn_information(REAL* L, REAL* moment, const REAL* X, const REAL* Y, const long long* bounds, const REAL* kept,
                        const REAL* weights, long long* learned, int* happened, REAL* out, int predicts, int d, int r,
                        int keeps_l) {
    SHARED(memory);
    const long long j = BLOCK;
    REAL *M = memory, *x = M + d * r, *flag = x + d, *own = L + j * d * d, *S = keeps_l ? flag + 1 : own;
    const REAL keep = kept[j];
    if (keeps_l) EACH(k, d * d) S[k] = own[k];
    EACH(k, d * r) M[k] = moment[j * d * r + k];
    long long row = bounds[2 * j];
    for (; row < bounds[2 * j + 1]; row++) {
        const REAL weight = weights[row], *y = Y + row * r;
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
    if (keeps_l) EACH(k, d * d) own[k] = S[k];
    EACH(k, d * r) moment[j * d * r + k] = M[k];
    FIRST_THREAD note_rows(bounds, j, row, learned, happened);
}
