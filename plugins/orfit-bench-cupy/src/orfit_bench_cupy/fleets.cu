// Code shared by the kernels of fleets, which learn the rows of many learners with some threads for each member and one
// launch for all rows of a call.
//
// Member j of `members` has the rows bounds[2 j] to bounds[2 j + 1] of X (n, d) and Y (n, r), and learns them in order.
// It stops before a row whose step would not be finite or has too few digits left; learned[j] counts the rows before it.
// happened[STOPPED] and happened[LOST_DIGITS] become 1 if that happened to some member, so that the host reads the
// numbers of all members only then.
// The order of every sum does not depend on the number of threads, and every thread of a member computes the same
// verdicts from shared numbers, so that all its threads take the same branches.
// Predictions are written to `out` if they are needed. bounds is null if every member has `rows_each` rows. A setting
// is an array, or null and the value that all members share.
//
// The threads of a member are a block, or, where a block has several members, a part of a warp: blockDim.y members of
// blockDim.x threads, a power of two. REAL is float or double. A host compiler, which the tests use, defines ENTRY and
// the macros below, for one thread or several.

#ifndef ENTRY
#define ENTRY extern "C" __global__ void
#define MEMBER ((long long)blockIdx.x * blockDim.y + threadIdx.y)
#define MEMORY(memory, room)                  \
    extern __shared__ double block_memory[];  \
    REAL* memory = (REAL*)block_memory + (size_t)threadIdx.y * (room)
#define THREAD ((int)threadIdx.x)
#define THREADS ((int)blockDim.x)
#define EACH(i, n) for (int i = THREAD; i < (n); i += THREADS)
#define FIRST_THREAD if (THREAD == 0)
#define BARRIER wait_for_member()
#define DEVICE __device__

// Waits for all threads of the member. Afterwards each thread sees what the others have written.
DEVICE inline void wait_for_member() {
    if (blockDim.y == 1) {
        __syncthreads();
    } else {
        const unsigned threads = blockDim.x < 32 ? (1u << blockDim.x) - 1 : 0xffffffffu;
        __syncwarp(threads << (threadIdx.y * blockDim.x % 32));
    }
}
#endif

// The rows of a call, and the sizes of its members, `room` that of their shared memory; what is noted of them.
#define ROWS                                                                                                     \
    const REAL *X, const REAL *Y, const long long *bounds, long long rows_each, int members, int room, int d, int r
#define NOTES long long *learned, int *happened, REAL *out, int predicts

#define STOPPED 0
#define LOST_DIGITS 1

// Partial sums of a product of vectors: partial l adds up the entries l, l + LANES, ...
#define LANES 32

#define AT_ONCE 8

// to[k] = from[k] for k < n. Each thread reads AT_ONCE entries before it writes them, so that the reads overlap in
// time: the compiler, which must assume that `to` and `from` share memory, would wait for each of them.
DEVICE inline void copy(REAL* to, const REAL* from, int n) {
    for (int first = THREAD; first < n; first += AT_ONCE * THREADS) {
        REAL part[AT_ONCE];
        for (int a = 0; a < AT_ONCE; a++) {
            const int k = first + a * THREADS;
            part[a] = k < n ? from[k] : (REAL)0;
        }
        for (int a = 0; a < AT_ONCE; a++) {
            const int k = first + a * THREADS;
            if (k < n) to[k] = part[a];
        }
    }
}

// The first row of member j, and the one after its last.
DEVICE inline long long first_row(const long long* bounds, long long rows_each, long long j) {
    return bounds ? bounds[2 * j] : rows_each * j;
}

DEVICE inline long long end_of_rows(const long long* bounds, long long rows_each, long long j) {
    return bounds ? bounds[2 * j + 1] : rows_each * (j + 1);
}

DEVICE inline REAL value_of(const REAL* values, REAL shared, long long j) { return values ? values[j] : shared; }
DEVICE inline long long value_of(const long long* values, long long shared, long long j) {
    return values ? values[j] : shared;
}

// What the first thread of member j notes in the end: it has learned its rows from `first` on up to this one.
DEVICE inline void note_rows(long long j, long long first, long long row, long long end, long long* learned,
                             int* happened) {
    learned[j] = row - first;
    if (row < end) happened[STOPPED] = 1;
}

DEVICE inline REAL larger(REAL a, REAL b) { return a > b ? a : b; }

DEVICE inline REAL sum_lanes(const REAL* partial) {
    REAL sum = 0;
    for (int l = 0; l < LANES; l++) sum += partial[l];
    return sum;
}

DEVICE inline REAL product(const REAL* a, const REAL* b, int n) {
    REAL sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}
