"""Plain NumPy: what a careful user would write for each method, one step a row, in a few lines and without checks.

Targets of the fast backends are ratios to these, so they exploit what a setting gives (no transition, no product with
it) and let BLAS and LAPACK work; none of them changes the result by more than rounding, except where it says so.
s holds the arrays of the state, X (n, d) the rows, y (n,) the targets, p the settings. This file changes only with a
page in docs/decisions/ (0030).
"""

import numpy as np


def lms(s, X, y, p):
    for x, t in zip(X, y, strict=True):
        s.w += p.step_size * (t - x @ s.w) * x


def nlms(s, X, y, p):
    for x, t in zip(X, y, strict=True):
        s.w += p.step_size * (t - x @ s.w) / (p.eps + x @ x) * x


def apa(s, X, y, p):
    for x, t in zip(X, y, strict=True):
        s.rows = np.vstack([s.rows, x])[-p.projection_order :]
        s.targets = np.append(s.targets, t)[-p.projection_order :]
        s.w += p.step_size * (s.rows.T @ np.linalg.solve(s.rows @ s.rows.T, s.targets - s.rows @ s.w))


def rls(s, X, y, p):
    for x, t in zip(X, y, strict=True):
        Px = s.P @ x
        K = Px / (p.forgetting_factor + x @ Px)
        s.w += K * (t - x @ s.w)
        s.P -= np.outer(K, Px)
        if p.forgetting_factor != 1:
            s.P /= p.forgetting_factor


def kalman(s, X, y, p):
    for x, t in zip(X, y, strict=True):
        if p.transition is not None:
            s.mean = p.transition @ s.mean
            s.covariance = p.transition @ s.covariance @ p.transition.T + p.process_noise
        Px = s.covariance @ x
        K = Px / (p.observation_noise + x @ Px)
        s.mean += K * (t - x @ s.mean)
        s.covariance -= np.outer(K, Px)


def smooth(s, X, y, p):
    F, seen = p.transition, []
    for x, t in zip(X, y, strict=True):
        s.mean, s.covariance = F @ s.mean, F @ s.covariance @ F.T + p.process_noise
        predicted = s.mean, s.covariance
        K = s.covariance @ x / (p.observation_noise + x @ s.covariance @ x)
        s.mean, s.covariance = s.mean + K * (t - x @ s.mean), s.covariance - np.outer(K, s.covariance @ x)
        seen.append((predicted, (s.mean, s.covariance)))
    m, P = seen[-1][1]
    for ((m_pred, P_pred), _), (_, (m_before, P_before)) in zip(seen[:0:-1], seen[-2::-1], strict=True):
        L = np.linalg.solve(P_pred, F @ P_before).T
        m, P = m_before + L @ (m - m_pred), P_before + L @ (P - P_pred) @ L.T


def icl(s, X, y, p):
    for x, t in zip(X, y, strict=True):
        r = x
        for _ in range(2):
            r = r - (s.basis @ r) @ s.basis
        s.w += r * ((t - x @ s.w) / (x @ r))
        s.basis = np.vstack([s.basis, r / np.linalg.norm(r)])


def orfit(s, X, y, p):
    for x, t in zip(X, y, strict=True):
        a = s.basis @ x
        r = x - a @ s.basis
        b = s.basis @ r
        r -= b @ s.basis
        rho = np.linalg.norm(r)
        s.w += r * ((t - x @ s.w) / (x @ r))
        M = np.block([[np.diag(s.singular_values), (a + b)[:, None]], [np.zeros(len(a)), rho]])
        V, values, _ = np.linalg.svd(M)
        s.basis = V[:, : p.memory].T @ np.vstack([s.basis, r / rho])
        s.singular_values = values[: p.memory]


def oja(s, X, y, p):
    for x in X:
        s.basis = np.linalg.qr(s.basis + p.step_size * np.outer(x, x @ s.basis))[0]


def krasulina(s, X, y, p):
    """Without making C orthonormal, which the rule does at every row: cheaper than it, so the harder to beat."""
    for x in X:
        c = x @ s.basis
        s.basis -= p.step_size * np.outer(s.basis @ c - x, c)


def sanger(s, X, y, p):
    for x in X:
        c = np.linalg.solve(s.basis.T @ s.basis, x @ s.basis)
        s.basis -= p.step_size * np.outer(s.basis @ c - x, c)


def implicit_krasulina(s, X, y, p):
    for x in X:
        c = np.linalg.solve(s.basis.T @ s.basis, x @ s.basis)
        s.basis += p.step_size / (1 + p.step_size * (c @ c)) * np.outer(x - s.basis @ c, c)


def incremental_pca(s, X, y, p):
    for x in X:
        a = x @ s.basis
        r = x - s.basis @ a
        rho = np.linalg.norm(r)
        M = np.block([[np.diag(s.singular_values), a[:, None]], [np.zeros(len(a)), rho]])
        V, values, _ = np.linalg.svd(M)
        s.basis = np.column_stack([s.basis, r / rho]) @ V[:, : p.n_components]
        s.singular_values = values[: p.n_components]
