// Affine projection (survey, APA): w <- w + step A'(A A' + eps I)^-1 (b - A w) for the last rows A (k, d), the new one
// included, and their targets b (k, r). T'T is the inverse, with T as orfit_bench_numba/_sliding_apa.py computes it.
// Stops before a row with which the products of rows lose digits, or a combination of the rows might count as zero; the
// host learns such a row with another algorithm.
// w (m, d, r), rows (m, order, d) and targets (m, order, r), the oldest of a window first, counts (m,) of them, steps
// (n,) and eps (m,), or one of each. In shared memory the new row takes the place of the oldest, `next`: the solution
// does not depend on the order of the rows. It holds order (d + r) + d r + r + order (2 order + 2 r + 1) numbers.
ENTRY learn_windows(REAL* w, REAL* rows, REAL* targets, const long long* counts, long long shared_counts, ROWS,
                    const REAL* steps, REAL shared_step, const REAL* eps, REAL shared_eps, NOTES, int order,
                    REAL max_inverse, REAL max_ratio, REAL max_size) {
    MEMORY(memory, room);
    const long long j = MEMBER;
    if (j >= members) return;
    const long long first = first_row(bounds, rows_each, j), end = end_of_rows(bounds, rows_each, j);
    REAL *W = memory, *A = W + d * r, *b = A + order * d, *f = b + order * r, *G = f + r, *T = G + order * order;
    REAL *e = T + order * order, *z = e + order * r, *u = z + order * r;
    const REAL added = value_of(eps, shared_eps, j);
    int n = value_of(counts, shared_counts, j), next = n % order;
    copy(W, w + j * d * r, d * r);
    copy(A, rows + j * order * d, n * d);
    copy(b, targets + j * order * r, n * r);
    BARRIER;
    EACH(q, n * n) G[q / n * order + q % n] = product(A + q / n * d, A + q % n * d, d);
    long long row = first;
    for (; row < end; row++) {
        const REAL *x = X + row * d, step = value_of(steps, shared_step, row);
        const int k = n < order ? n + 1 : order;
        EACH(c, r) {
            REAL sum = 0;
            for (int i = 0; i < d; i++) sum += x[i] * W[i * r + c];
            f[c] = sum;
            if (predicts) out[row * r + c] = sum;
        }
        EACH(a, k) u[a] = product(a == next ? x : A + a * d, x, d);
        BARRIER;
        // a square beyond the limits leaves the row to the host before the window changes
        if (!(1 / max_size < u[next] && u[next] < max_size)) break;
        EACH(q, k * r) {
            const int a = q / r, c = q % r;
            REAL sum = f[c];
            if (a != next) {
                sum = 0;
                for (int i = 0; i < d; i++) sum += A[a * d + i] * W[i * r + c];
            }
            e[q] = (a == next ? Y[row * r + c] : b[q]) - sum;
        }
        EACH(q, k * k) {  // T is work space for the products of the window with the new row
            const int a = q / k, o = q % k;
            T[a * order + o] = a == next ? u[o] : o == next ? u[a] : G[a * order + o];
        }
        BARRIER;
        REAL total = 0, square = 0;
        for (int a = 0; a < k; a++) total += T[a * order + a];
        for (int a = 0; a < k; a++) {  // row a of T from the products of row a, which it replaces
            EACH(o, a) {
                REAL sum = 0;
                for (int i = 0; i <= o; i++) sum += T[o * order + i] * T[a * order + i];
                z[o] = sum;
            }
            BARRIER;
            REAL rest = T[a * order + a] + added;
            for (int o = 0; o < a; o++) rest -= z[o] * z[o];
            BARRIER;
            EACH(o, a + 1) {
                REAL sum = o == a ? 1 : 0;
                for (int i = o; i < a; i++) sum -= z[i] * T[i * order + o];
                T[a * order + o] = sum / sqrt(rest);
            }
            BARRIER;
            square += product(T + a * order, T + a * order, a + 1);
        }
        if (!(max_inverse * k * k > square * (total + k * added) && (1 / square - added) * max_ratio > total)) break;
        EACH(q, k * r) {
            REAL sum = 0;
            for (int i = 0; i <= q / r; i++) sum += T[q / r * order + i] * e[i * r + q % r];
            z[q] = sum;
        }
        BARRIER;
        EACH(q, k * r) {
            const int a = q / r, c = q % r;
            REAL sum = 0;
            for (int i = a; i < k; i++) sum += T[i * order + a] * z[i * r + c];
            e[q] = sum;
        }
        BARRIER;
        bool small = true;
        for (int c = 0; c < r; c++) {
            REAL sum = 0;
            for (int a = 0; a < k; a++) sum += fabs(e[a * r + c]);
            small = small && sum * fabs(step) < max_size;
        }
        if (!small) break;
        EACH(a, k) G[a * order + next] = G[next * order + a] = u[a];
        EACH(i, d) A[next * d + i] = x[i];  // the thread that reads it below
        EACH(c, r) b[next * r + c] = Y[row * r + c];
        EACH(i, d) for (int c = 0; c < r; c++) {
            for (int a = 0; a < k; a++) W[i * r + c] += step * e[a * r + c] * A[a * d + i];
        }
        n = k;
        next = (next + 1) % order;
        BARRIER;
    }
    copy(w + j * d * r, W, d * r);
    const int oldest = n < order ? 0 : next;
    EACH(i, n * d) rows[j * order * d + i] = A[(oldest + i / d) % order * d + i % d];
    EACH(i, n * r) targets[j * order * r + i] = b[(oldest + i / r) % order * r + i % r];
    FIRST_THREAD note_rows(j, first, row, end, learned, happened);
}
