// Learn a block of b rows by recursive least squares: the operations between the matrix products of _device_blocks.py.
//
// For rows X (b, d) with noise R_j and powers ff^j: K = X P X' + diag(ff^j R_j) = L L', V = L^-1 X P, Z = L^-1 (y - X w).
// `right` (d + r, b) holds V' and below it Z'. A row with a gap, a target that is missing, has zeros there and a row of
// the unit matrix in K. verdicts[k] is REFUSED if block k or one before it was refused: such a block changes nothing.
// The order of every sum does not depend on the number of threads.
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

#define REFUSED 0
#define ACCEPTED 1
#define DEGRADED 2
// Rows and columns of the square parts that lie in shared memory, and the distance of their rows there.
#define TILE 32
#define PITCH 33
// Partial sums and maxima: partial l has the entries l, l + LANES, ...
#define LANES 32

// The larger of two numbers; NaN if one of them is.
DEVICE inline REAL larger(REAL a, REAL b) { return a >= b || a != a ? a : b; }

// K from S = X P X', and the right sides: V' initially P X', of which gaps become zero, and Z' <- (y - F)'. A block a row.
ENTRY prepare_rows(const REAL* S, const REAL* F, const REAL* Y, const REAL* noise, const REAL* power,
                   const unsigned char* gaps, REAL* K, REAL* right, int b, int d, int r) {
    const long long j = BLOCK;
    const bool gap = gaps[j];
    EACH(i, b) {
        const REAL own = i == j ? (gap ? 1 : noise[j] * power[j]) : 0;
        K[j * b + i] = own + (gap || gaps[i] ? 0 : S[j * b + i]);
    }
    EACH(c, r) right[(long long)(d + c) * b + j] = gap ? 0 : Y[j * r + c] - F[j * r + c];
    if (gap) EACH(i, d) right[(long long)i * b + j] = 0;
}

// fits[j] = 1 if row j of L L' equals row j of K to rounding, otherwise 0. One block per row.
ENTRY compare_factor(const REAL* K, const REAL* product, REAL* fits, int b, REAL allowed) {
    SHARED(partial);
    const long long j = BLOCK;
    EACH(l, LANES) {
        partial[l] = 1;
        for (int i = l; i <= j; i += LANES) {
            const REAL size = sqrt(K[(long long)i * b + i]) * sqrt(K[j * b + j]);
            if (!(fabs(product[j * b + i] - K[j * b + i]) < allowed * size)) partial[l] = 0;  // NaN and inf too
        }
    }
    BARRIER;
    FIRST_THREAD {
        REAL all = 1;
        for (int l = 0; l < LANES; l++) all *= partial[l];
        fits[j] = all;
    }
}

// Measurements of each row for TILE features, one block of threads per tile: measured (tiles, 3 b + 4) gets
// sum |x_i| sqrt(P_ii), the largest |P_ii| before the row and the largest P_ii after it, and finally max |w|,
// max |move|, sum V^2, and 1 if the rows together divide each P_ii by at most `most_shrinkage`, otherwise 0.
ENTRY measure_features(const REAL* X, const REAL* P, const REAL* w, const REAL* right, const REAL* move,
                       REAL* measured, int b, int d, int r, REAL largest, REAL most_shrinkage) {
    SHARED(memory);
    REAL *variance = memory, *x = variance + (TILE + 1) * PITCH, *after = x + TILE * PITCH, *square = after + TILE;
    REAL *reach = square + TILE, *farthest = reach + TILE, *found = measured + BLOCK * (3 * b + 4);
    const long long first = BLOCK * TILE;
    const int count = d - first < TILE ? (int)(d - first) : TILE;
    EACH(i, count) {
        after[i] = P[(first + i) * (d + 1)];
        square[i] = reach[i] = farthest[i] = 0;
        for (int c = 0; c < r; c++) {
            reach[i] = larger(reach[i], fabs(w[(first + i) * r + c]));
            farthest[i] = larger(farthest[i], fabs(move[(first + i) * r + c]));
        }
    }
    for (int row = 0; row < b; row += TILE) {
        const int rows = b - row < TILE ? b - row : TILE;
        EACH(k, TILE * TILE) {
            const int slow = k / TILE, fast = k % TILE;
            if (slow < count && fast < rows) {
                const REAL v = right[(first + slow) * b + row + fast];
                variance[(fast + 1) * PITCH + slow] = v * v;
            }
            if (slow < rows && fast < count) x[slow * PITCH + fast] = fabs(X[(long long)(row + slow) * d + first + fast]);
        }
        BARRIER;
        EACH(i, count) {  // squares of V become variances: entry j before row j, entry j + 1 after it
            variance[i] = after[i];
            for (int j = 1; j <= rows; j++) {
                square[i] += variance[j * PITCH + i];
                variance[j * PITCH + i] = variance[(j - 1) * PITCH + i] - variance[j * PITCH + i];
            }
            after[i] = variance[rows * PITCH + i];
        }
        BARRIER;
        EACH(j, rows) {
            REAL size = 0, widest = 0, highest = -largest;
            for (int i = 0; i < count; i++) {
                const REAL before = fabs(variance[j * PITCH + i]);
                size += x[j * PITCH + i] * sqrt(before);
                widest = larger(widest, before);
                highest = larger(highest, variance[(j + 1) * PITCH + i]);
            }
            found[row + j] = size;
            found[b + row + j] = widest;
            found[2 * b + row + j] = highest;
        }
        BARRIER;
    }
    FIRST_THREAD {
        bool kept = true;  // false for NaN too
        for (int i = 0; i < count; i++) kept = kept && after[i] * most_shrinkage >= P[(first + i) * (d + 1)];
        for (int i = 1; i < count; i++) {
            reach[0] = larger(reach[0], reach[i]);
            farthest[0] = larger(farthest[0], farthest[i]);
            square[0] += square[i];
        }
        found[3 * b] = reach[0];
        found[3 * b + 1] = farthest[0];
        found[3 * b + 2] = square[0];
        found[3 * b + 3] = kept;
    }
}

// out (b, r): the prediction of every row before it is learned, F + tril(C, -1) Z with C = X V'. One block per row.
ENTRY predict_rows(const REAL* F, const REAL* C, const REAL* right, REAL* out, int b, int d, int r) {
    const long long j = BLOCK;
    EACH(c, r) {
        const REAL* z = right + (long long)(d + c) * b;
        REAL sum = F[j * r + c];
        for (int i = 0; i < j; i++) sum += C[j * b + i] * z[i];
        out[j * r + c] = sum;
    }
}

// The verdict on a row, as in _precision_guard.judge_rows and the Numba kernel.
DEVICE inline int judge_row(REAL pivot, REAL noise, REAL power, REAL size, REAL widest, REAL highest, REAL ff,
                            REAL max_rounding, REAL max_cancellation, REAL max_variance, REAL eps, REAL third,
                            REAL largest) {
    const REAL s = pivot / power, half = sqrt(eps);
    const REAL rounded = eps * (size * size) / pivot, cancelled = eps * s / noise;
    const bool accurate = rounded <= max_rounding && cancelled <= max_cancellation;
    if (!(s > 0 && s >= noise * (1 - half) && accurate)) return REFUSED;
    if (!(highest / (power * ff) < max_variance)) return REFUSED;
    return rounded > half || cancelled > third || widest / power > sqrt(largest) ? DEGRADED : ACCEPTED;
}

// verdicts[block] by all rows and bounds, in one block of threads; with `predicts` also by `out`, which has to be finite.
ENTRY judge_block(const REAL* L, const REAL* fits, const REAL* measured, const REAL* right, const REAL* noise,
                  const REAL* power, const unsigned char* gaps, const REAL* out, long long* verdicts, int predicts,
                  int block, int b, int d, int r, REAL ff, REAL max_rounding, REAL max_cancellation,
                  REAL max_variance, REAL eps, REAL third, REAL largest) {
    SHARED(memory);
    REAL *verdict = memory, *total = verdict + b, *partial = total + b;
    const int tiles = (d + TILE - 1) / TILE, width = 3 * b + 4;
    const bool stopped = block > 0 && verdicts[block - 1] == REFUSED;
    EACH(j, b) {
        REAL size = 0, widest = 0, highest = -largest;
        for (int t = 0; t < tiles; t++) {
            const REAL* of = measured + (long long)t * width + j;
            size += of[0];
            widest = larger(widest, of[b]);
            highest = larger(highest, of[2 * b]);
        }
        const REAL pivot = L[(long long)j * b + j] * L[(long long)j * b + j];
        const int found = judge_row(pivot, noise[j], power[j], size, widest, highest, ff, max_rounding,
                                    max_cancellation, max_variance, eps, third, largest);
        bool sound = fits[j] == 1 && L[(long long)j * b + j] > 0;
        for (int c = 0; c < r; c++) sound = sound && (!predicts || isfinite(out[(long long)j * r + c]));
        verdict[j] = !sound ? REFUSED : gaps[j] ? ACCEPTED : found;
        total[j] = 0;
        for (int c = 0; c < r; c++) total[j] += fabs(right[(long long)(d + c) * b + j]);
    }
    BARRIER;
    EACH(l, LANES) {
        REAL *reach = partial + l, *sums = partial + 3 * LANES + l;
        for (int k = 0; k < 5; k++) partial[k * LANES + l] = 0;
        for (int t = l; t < tiles; t += LANES) {
            const REAL* of = measured + (long long)t * width + 3 * b;
            reach[0] = larger(reach[0], of[0]);
            reach[LANES] = larger(reach[LANES], of[1]);
            reach[2 * LANES] += of[2];
        }
        sums[LANES] = ACCEPTED;
        for (int t = l; t < tiles; t += LANES) {
            if (measured[(long long)t * width + 3 * b + 3] != 1) sums[LANES] = REFUSED;
        }
        for (int j = l; j < b; j += LANES) {
            sums[0] += total[j];
            sums[LANES] = verdict[j] == REFUSED || sums[LANES] == REFUSED ? REFUSED : larger(sums[LANES], verdict[j]);
        }
    }
    BARRIER;
    FIRST_THREAD {
        REAL reach = 0, farthest = 0, square = 0, sum = 0, worst = ACCEPTED;
        for (int l = 0; l < LANES; l++) {
            reach = larger(reach, partial[l]);
            farthest = larger(farthest, partial[LANES + l]);
            square += partial[2 * LANES + l];
            sum += partial[3 * LANES + l];
            const REAL part = partial[4 * LANES + l];
            worst = part == REFUSED || worst == REFUSED ? REFUSED : larger(worst, part);
        }
        const bool bounded = reach + sum * sqrt(square) < largest && farthest < largest;  // all weights on the way
        verdicts[block] = stopped || !bounded ? REFUSED : (long long)worst;
    }
}

// P <- (P - G) / kept for the lower triangle of G = V'V, both triangles of P from the same numbers, and w <- w + move;
// nothing if the block is refused. A block for TILE x TILE entries below the diagonal and those across from them.
ENTRY apply_block(REAL* P, REAL* w, const REAL* G, const REAL* move, const long long* verdicts, int block, int d, int r,
                  REAL kept) {
    SHARED(tile);
    if (verdicts[block] == REFUSED) return;
    const long long tiles = (d + TILE - 1) / TILE, top = BLOCK / tiles * TILE, left = BLOCK % tiles * TILE;
    if (left > top) return;
    EACH(k, TILE * TILE) {
        const long long row = top + k / TILE, column = left + k % TILE;
        if (row < d && column <= row) {
            tile[k / TILE * PITCH + k % TILE] = G[row * d + column];
            P[row * d + column] = (P[row * d + column] - G[row * d + column]) / kept;
        }
    }
    BARRIER;
    EACH(k, TILE * TILE) {
        const long long row = left + k / TILE, column = top + k % TILE;
        if (column < d && row < column) {
            P[row * d + column] = (P[row * d + column] - tile[k % TILE * PITCH + k / TILE]) / kept;
        }
    }
    if (left == top) EACH(k, TILE * r) {
        if (top * r + k < (long long)d * r) w[top * r + k] += move[top * r + k];
    }
}
