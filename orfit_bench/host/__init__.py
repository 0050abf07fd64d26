"""The host: finds plugins and turns a method, a backend and its kernels into a learner."""
