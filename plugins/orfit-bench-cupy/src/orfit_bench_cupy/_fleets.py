"""Why the kernels here learn no fleets."""

NO_FLEETS = {
    "fleets": "many small learners need a kernel in CUDA with a block of threads for each, which is not written yet; "
    "numba learns fleets on the CPU"
}
