// What all kernels of fleets share, which learn the rows of many learners: a block of threads for each member, one launch for all rows of a call.
//
// Member j of the call has the rows bounds[2 j] to bounds[2 j + 1] of X (n, d) and Y (n, r), and learns them in order.
// It stops before a row whose step would not be finite or has too few digits left; learned[j] counts the rows before it.
// happened[STOPPED] and happened[LOST_DIGITS] become 1 if that happened to some member, so that the host reads the
// numbers of all members only then.
// Every sum has one order, whatever the number of threads, and every thread of a block computes the same verdicts from
// shared numbers, so that all threads take the same branches.
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

#define STOPPED 0
#define LOST_DIGITS 1

// Partial sums of a product of vectors: partial l adds up the entries l, l + LANES, ...
#define LANES 32

// What the first thread of member j notes in the end: it has learned its rows up to this one.
DEVICE inline void note_rows(const long long* bounds, long long j, long long row, long long* learned, int* happened) {
    learned[j] = row - bounds[2 * j];
    if (row < bounds[2 * j + 1]) happened[STOPPED] = 1;
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
