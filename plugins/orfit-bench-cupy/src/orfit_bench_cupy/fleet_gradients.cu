// The energy eps + x'x is energy 2^(2 power), for rows of any size; 1 for a row of zeros without eps.
DEVICE inline REAL energy_by_exponents(const REAL* x, int d, REAL eps, int* power) {
    REAL size = sqrt(eps);
    for (int i = 0; i < d; i++) size = larger(size, fabs(x[i]));
    frexp(size, power);
    REAL energy = size > 0 ? ldexp(eps, -2 * *power) : 1;
    for (int i = 0; i < d; i++) {
        const REAL part = ldexp(x[i], -*power);
        energy += part * part;
    }
    return energy;
}

// step e x / (energy 2^(2 power)), computed with separate exponents, so that only the result can over- or underflow.
DEVICE inline REAL multiple_by_exponents(REAL x, REAL e, REAL step, REAL energy, int power) {
    int i, j, n;
    const REAL z = frexp(e, &i), v = frexp(step, &j), gain = frexp(z * v / energy, &n);
    return 2 * gain * ldexp(x, i + j + n - 1 - 2 * power);
}

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
        const REAL step = value_of(steps, shared_step, row);
        REAL energy = normalized ? added + sum_lanes(partial + r * LANES) : 1;
        const REAL share = step / energy;  // 0 for an infinite energy
        bool exact = !normalized || (smallest < energy && smallest < share);
        for (int c = 0; normalized && c < r; c++) {
            const REAL gain = fabs(z[c] * share);
            exact = exact && ((smallest < gain && gain <= largest) || z[c] == 0);
        }
        int power = 0;
        if (!exact) energy = energy_by_exponents(x, d, added, &power);
        EACH(i, d) for (int c = 0; c < r; c++) {
            const REAL move = exact ? z[c] * share * x[i] : multiple_by_exponents(x[i], z[c], step, energy, power);
            if (!isfinite(W[i * r + c] + move)) flag[0] = 0;
        }
        BARRIER;
        if (flag[0] == 0) break;
        EACH(i, d) for (int c = 0; c < r; c++)
            W[i * r + c] += exact ? z[c] * share * x[i] : multiple_by_exponents(x[i], z[c], step, energy, power);
    }
    BARRIER;  // weights of several targets are copied by other threads than they are learned by
    copy(w + j * d * r, W, d * r);
    FIRST_THREAD note_rows(j, first, row, end, learned, happened);
}
