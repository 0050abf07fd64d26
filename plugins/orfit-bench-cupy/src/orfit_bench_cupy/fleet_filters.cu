// Kalman filter (survey, Proposition 3), as orfit_bench_numba/_kalman_rows.py: the prediction, from the second step on,
// theta <- A theta, P <- A P A' + Q, and the correction by a row x with target y, unless it is missing (NaN); or neither.
// A and Q are a number (size 1), a diagonal (size d), a matrix (size d d), or not given (size 0); each member has its
// own (every = 1), or all have one (every = 0). takes_effect (m or 1, 2) tells which of both the settings use.

// Entry (i, k) of P after the prediction; N is P after one by matrices, otherwise g and h are the diagonals of A and Q.
DEVICE inline REAL predicted(const REAL* P, const REAL* N, const REAL* g, const REAL* h, int by_matrix, int d, int i,
                             int k) {
    if (by_matrix) return N[i * d + k];
    return P[i * d + k] * (g[i] * g[k]) + (i == k ? h[i] : (REAL)0);
}

// Entry (i, k) of a matrix given as a number, a diagonal, a matrix or not at all.
DEVICE inline REAL entry_of(const REAL* matrix, int size, int d, int i, int k) {
    if (size == d * d && d > 1) return matrix[i * d + k];
    return i == k && size > 0 ? matrix[size > 1 ? i : 0] : (REAL)0;
}

// P (m, d, d), mean (m, d, r), scale (m, d), work (m, 2 d d) or unused, noise (m,) or one, done (m,) the steps before
// these rows.
// The shared memory holds 2 d r + 7 d + r + 1 numbers, and P, with motion by matrices three of its size, if keeps_p.
ENTRY learn_filters(REAL* P, REAL* mean, REAL* scale, REAL* work, ROWS, const REAL* A, const REAL* Q,
                    const int* takes_effect, const REAL* noise, REAL shared_noise, const long long* done,
                    long long shared_done, long long* degraded, NOTES, int a_size, int a_every, int q_size, int q_every,
                    int effect_every, int keeps_p, REAL eps, REAL third, REAL largest) {
    MEMORY(memory, room);
    const long long j = MEMBER;
    if (j >= members) return;
    const long long first = first_row(bounds, rows_each, j), end = end_of_rows(bounds, rows_each, j);
    REAL *W = memory, *M = W + d * r, *x = M + d * r, *u = x + d, *v = u + d, *g = v + d, *h = g + d;
    REAL *diagonal = h + d, *shares = diagonal + d, *z = shares + d, *flag = z + r;
    REAL *own = P + j * d * d, *S = keeps_p ? flag + 1 : own, *N = keeps_p ? S + d * d : work + 2 * j * d * d;
    REAL* T = N + d * d;  // A P; N and T are used by matrices alone
    const REAL *F = A + a_every * j * a_size, *V = Q + q_every * j * q_size;
    const REAL R = value_of(noise, shared_noise, j), half = sqrt(eps);
    const bool has_transition = takes_effect[2 * effect_every * j] != 0;
    const bool has_noise = takes_effect[2 * effect_every * j + 1] != 0;
    const REAL max_rounding = has_transition ? (REAL)0.01 : (REAL)1;
    if (keeps_p) copy(S, own, d * d);
    copy(W, mean + j * d * r, d * r);
    long long row = first;
    int lost = 0;
    for (; row < end; row++) {
        // the state does not move before the very first row
        const bool later = value_of(done, shared_done, j) + row - first > 0;
        const bool turns = later && has_transition, shakes = later && has_noise;
        const bool by_matrix = d > 1 && ((turns && a_size == d * d) || (shakes && q_size == d * d));
        EACH(i, d) {
            x[i] = X[row * d + i];
            g[i] = turns ? entry_of(F, a_size, d, i, i) : (REAL)1;
            h[i] = shakes ? entry_of(V, q_size, d, i, i) : (REAL)0;
        }
        FIRST_THREAD flag[0] = 1;
        BARRIER;
        EACH(i, d) for (int k = 0; by_matrix && k < d; k++) {  // T = A P
            REAL sum = 0;
            for (int o = 0; o < d; o++) sum += entry_of(F, turns ? a_size : 0, d, i, o) * S[o * d + k];
            T[i * d + k] = turns ? sum : S[i * d + k];
        }
        EACH(i, d) for (int c = 0; c < r; c++) {  // M = A theta
            REAL sum = g[i] * W[i * r + c];
            if (turns && a_size == d * d && d > 1) {
                sum = 0;
                for (int o = 0; o < d; o++) sum += F[i * d + o] * W[o * r + c];
            }
            M[i * r + c] = sum;
        }
        // N = T A' + Q, its lower triangle mirrored, by the thread that wrote row i of T
        EACH(i, d) for (int k = 0; by_matrix && k <= i; k++) {
            REAL sum = turns ? (REAL)0 : T[i * d + k];
            for (int o = 0; turns && o < d; o++) sum += T[i * d + o] * entry_of(F, a_size, d, k, o);
            sum += entry_of(V, shakes ? q_size : 0, d, i, k);
            if (!isfinite(sum)) flag[0] = 0;
            N[i * d + k] = N[k * d + i] = sum;
        }
        BARRIER;
        EACH(i, d) {  // u = P x; v: the largest share of each entry in x'P x
            REAL sum = 0;
            for (int k = 0; k < d; k++) sum += predicted(S, N, g, h, by_matrix, d, k, i) * x[k];
            u[i] = sum;
            diagonal[i] = predicted(S, N, g, h, by_matrix, d, i, i);
            REAL terms = 0;  // of the sums over k of A_ik P_kk A_ik, of which the diagonal may leave little
            for (int k = 0; turns && by_matrix && k < d; k++) {
                const REAL factor = entry_of(F, a_size, d, i, k);
                terms += factor * factor * fabs(S[k * d + k]);
            }
            diagonal[i] = larger(diagonal[i], terms);
            v[i] = fabs(x[i]) * sqrt(fabs(diagonal[i]));
            if (!isfinite(diagonal[i])) flag[0] = 0;
            shares[i] = 0;  // of the variance x'Q x that the process noise adds before the next row
            for (int k = 0; has_noise && k < d; k++) shares[i] += entry_of(V, q_size, d, i, k) * x[k] * x[i];
        }
        EACH(c, r) {  // z = e
            REAL f = 0;
            for (int i = 0; i < d; i++) f += x[i] * M[i * r + c];
            if (predicts) out[row * r + c] = f;
            z[c] = Y[row * r + c] - f;
        }
        BARRIER;
        bool missing = false;
        for (int c = 0; c < r; c++) missing = missing || isnan(Y[row * r + c]);
        REAL variance = 0, reach = 0, widest = 0, regained = 0;
        for (int i = 0; i < d; i++) {
            variance += x[i] * u[i];
            reach += v[i];
            widest = larger(widest, fabs(diagonal[i]));
            regained += shares[i];
        }
        const REAL s = R + variance, gain = missing ? (REAL)0 : 1 / sqrt(s), rounded = eps * (reach * reach / s);
        const REAL cancelled = eps * s / (R + regained);
        const bool accurate = s > 0 && s >= R * (1 - half) && rounded <= max_rounding &&
                              (has_transition || cancelled <= 1);
        EACH(i, d) for (int c = 0; c < r; c++) {
            if (!isfinite(missing ? M[i * r + c] : M[i * r + c] + z[c] * gain * (u[i] * gain))) flag[0] = 0;
        }
        BARRIER;
        if (!(accurate || missing) || flag[0] == 0) break;
        EACH(i, d) {  // v = P x / sqrt(s)
            v[i] = missing ? (REAL)0 : u[i] * gain;
            for (int c = 0; c < r; c++) W[i * r + c] = missing ? M[i * r + c] : M[i * r + c] + z[c] * gain * v[i];
            if (turns || shakes) scale[j * d + i] = diagonal[i];
        }
        BARRIER;
        EACH(k, d) for (int i = 0; i < d; i++) S[i * d + k] = predicted(S, N, g, h, by_matrix, d, i, k) - v[i] * v[k];
        if (!missing && (rounded > half || cancelled > third || widest > sqrt(largest))) lost = 1;
        BARRIER;
    }
    if (keeps_p) copy(own, S, d * d);
    copy(mean + j * d * r, W, d * r);
    FIRST_THREAD {
        note_rows(j, first, row, end, learned, happened);
        degraded[j] = lost;
        if (lost) happened[LOST_DIGITS] = 1;
    }
}
