"""Mutants that no test can kill, each with the reason.

The key is (file, function, statement, mutated statement, repeat): a statement that changes must be
looked at again, and a test says so.
"""

Key = tuple[str, str, str, str, int]

SPEED_ONLY = "same answer, other speed: "
EXACT, FACTORED, LINALG = (f"leml_solver/{room}/" for room in ("_exact", "_factored", "_linalg"))
BLOCKED = "leml_solver/_blocked/"


EQUIVALENT: dict[Key, str] = {
    (
        "leml_solver/_estimation/defaults.py",
        "_unrounded",
        "return np.where(np.abs(differences) <= n * _EPS * np.abs(values), 0.0, differences)",
        "return np.where(np.abs(differences) < n * _EPS * np.abs(values), 0.0, differences)",
        0,
    ): "a difference that is exactly the limit may go either way, and one of zeros is zero",
    (
        EXACT + "faces.py",
        "face_of",
        "if norm <= ball.radius:",
        "if norm < ball.radius:",
        0,
    ): "exactly on the sphere the projection has no derivative; both faces hold a generalised one",
    (
        EXACT + "steps.py",
        "accelerated",
        "if np.vdot(ahead - new, new - Z) > 0:",
        "if np.vdot(ahead - new, new - Z) >= 0:",
        0,
    ): "only where the momentum is exactly across the step, which rounding decides",
    (
        EXACT + "objective.py",
        "_diagonal_quadratic",
        "values, Q = np.linalg.eigh(X.T @ X) if X.shape[0] >= X.shape[1] else (np.zeros(1), X)",
        "values, Q = np.linalg.eigh(X.T @ X) if X.shape[0] >= X.shape[1] else (np.zeros(2), X)",
        0,
    ): "of these zeros only the first and the last are read",
    (
        EXACT + "objective.py",
        "_row_basis",
        "if n >= d:",
        "if n < d:",
        0,
    ): SPEED_ONLY + "eigenvalues save a decomposition where X has full column rank",
    (
        EXACT + "objective.py",
        "apply_blocks",
        "if blocks.shape[0] == 1:",
        "if blocks.shape[0] == 0:",
        0,
    ): SPEED_ONLY + "one block is broadcast over the labels",
    (
        EXACT + "cvxpy_oracle.py",
        "",
        "SOLVERS: dict[str, dict[str, Any]] = {'CLARABEL': {}, 'SCS': {'eps_abs': 1e-09, "
        "'eps_rel': 1e-09, 'max_iters': 200000}}",
        "SOLVERS: dict[str, dict[str, Any]] = {'CLARABEL': {}, 'SCS': {'eps_abs': 1e-09, "
        "'eps_rel': 1e-09, 'max_iters': 200001}}",
        0,
    ): "one iteration more than 200,000; our certificate judges the answer",
    (
        FACTORED + "fit.py",
        "Fit._alternate",
        "length = f'about {rounded:g}' if seconds >= 0.01 else 'less than 0.01'",
        "length = f'about {rounded:g}' if seconds > 0.01 else 'less than 0.01'",
        0,
    ): "only an estimate of exactly 0.01 s is told otherwise",
    (
        FACTORED + "rank_bound.py",
        "cheapest_bound",
        "scale = max(2 * data.scale, 1e-100)",
        "scale = max(4 * data.scale, 1e-100)",
        0,
    ): "any ridge gives a valid bound; this is as near to a good one",
    (
        FACTORED + "rank_bound.py",
        "cheapest_bound",
        "scale = max(2 * data.scale, 1e-100)",
        "scale = max(2 * data.scale, 2e-100)",
        0,
    ): "any ridge gives a valid bound; labels that are all zero need a finite one",
    (
        FACTORED + "certificate.py",
        "trace_norm",
        "R, S = (scipy.linalg.qr(F, mode='r', check_finite=False)[0][:F.shape[1]] for F in (W, H))",
        "R, S = (scipy.linalg.qr(F, mode='r', check_finite=False)[0][:F.shape[1] + 1] "
        "for F in (W, H))",
        0,
    ): "rows of the triangular factor below the k-th are zero",
    (
        FACTORED + "certificate.py",
        "trace_norm",
        "R, S = (scipy.linalg.qr(F, mode='r', check_finite=False)[0][:F.shape[1]] for F in (W, H))",
        "R, S = (scipy.linalg.qr(F, mode='r', check_finite=False)[0][:F.shape[0]] for F in (W, H))",
        0,
    ): "rows of the triangular factor below the k-th are zero",
    (
        FACTORED + "certificate.py",
        "_repaired",
        "return np.asarray(u * np.where(y > 0, shrink[0][labels], shrink[1][labels]))",
        "return np.asarray(u * np.where(y >= 0, shrink[0][labels], shrink[1][labels]))",
        0,
    ): "binary labels are -1 and +1, never 0",
    (
        FACTORED + "certificate.py",
        "norm_from_above",
        "if min(d, L) <= EXACT_SIDE and d * L <= EXACT_SIZE:",
        "if min(d, L) < EXACT_SIDE and d * L <= EXACT_SIZE:",
        0,
    ): SPEED_ONLY + "the limit itself may go either way",
    (
        FACTORED + "plan.py",
        "",
        "AUTHORS = replace(PLAIN, trust_region=True, newton_steps=60, accepted_steps=5)",
        "AUTHORS = replace(PLAIN, trust_region=True, newton_steps=61, accepted_steps=5)",
        0,
    ): "how often a region may shrink before an update gives up: five accepted steps come first",
    (
        FACTORED + "plan.py",
        "",
        "AUTHORS = replace(PLAIN, trust_region=True, newton_steps=60, accepted_steps=5)",
        "AUTHORS = replace(PLAIN, trust_region=True, newton_steps=120, accepted_steps=5)",
        0,
    ): "how often a region may shrink before an update gives up: five accepted steps come first",
    (
        FACTORED + "rank_bound.py",
        "FullData.energy",
        "return centred - 4 * (n + L) * _EPS * self.scale",
        "return centred - 8 * (n + L) * _EPS * self.scale",
        0,
    ): "more allowance for rounding: a bound that is lower by 1e-13 of its size, and valid",
    (
        FACTORED + "rank_bound.py",
        "FullData.rounding",
        "return 4 * sum(self.sizes) * _EPS",
        "return 8 * sum(self.sizes) * _EPS",
        0,
    ): "more allowance for rounding: a bound that is lower by 1e-13 of its size, and valid",
    (
        FACTORED + "rank_ascent.py",
        "_proved",
        "G = G * max(0.5, 1 - 1.5 * excess)",
        "G = G * max(0.5, 1 - 2.5 * excess)",
        0,
    ): "draws back by more: a bound that is lower by rounding, and valid",
    (
        FACTORED + "fit.py",
        "expected_seconds",
        "passes = 2.0 * steps * (plan.cg_steps + 4)",
        "passes = 4.0 * steps * (plan.cg_steps + 4)",
        0,
    ): "an estimate to within a factor of three, on machines that differ by as much",
    (
        FACTORED + "plan.py",
        "Plan",
        "cg_steps: int = 4",
        "cg_steps: int = 8",
        0,
    ): SPEED_ONLY + "more steps of conjugate gradients in an update",
    (
        FACTORED + "plan.py",
        "",
        "PLAIN = Plan(columnwise=False, precondition=False, balance=False, factorise=False, "
        "cg_steps=20, newton_steps=5, cg_tol=0.001)",
        "PLAIN = Plan(columnwise=False, precondition=False, balance=False, factorise=False, "
        "cg_steps=20, newton_steps=5, cg_tol=0.002)",
        0,
    ): SPEED_ONLY + "how exactly an update is solved",
    (
        FACTORED + "algorithm_2.py",
        "dense_gram",
        "block = max(1, (1 << 22) // X.shape[1])",
        "block = max(1, (1 << 22) * X.shape[1])",
        0,
    ): SPEED_ONLY + "rows of a block of the sum",
    (
        FACTORED + "algorithm_2.py",
        "dense_gram",
        "block = max(1, (1 << 22) // X.shape[1])",
        "block = max(1, (0 << 22) // X.shape[1])",
        0,
    ): SPEED_ONLY + "rows of a block of the sum",
    (
        FACTORED + "algorithm_2.py",
        "FullSquared._columnwise_W",
        "width = WIDE_BYTES // self.W.itemsize",
        "width = WIDE_BYTES * self.W.itemsize",
        0,
    ): SPEED_ONLY + "columns of a panel, each of which is solved by itself",
    (
        LINALG + "conjugate_gradient.py",
        "ConjugateGradient._turn",
        "self.open &= self.energy > self.target",
        "self.open &= self.energy >= self.target",
        0,
    ): SPEED_ONLY + "a residual at the tolerance to the last bit, or zero, which moves nothing",
    (
        FACTORED + "entry_sums.py",
        "SparseEntries.curvatures",
        "if type(self.loss) is Squared:",
        "pass",
        0,
    ): SPEED_ONLY + "the second derivatives of the squared loss are the same ones, computed",
    (
        FACTORED + "entry_sums.py",
        "_EntriesOf.first_slopes",
        "return self.slopes(*(np.zeros((size, 1), self.dtype) for size in self.shape), None)",
        "return self.slopes(*(np.zeros((size, 2), self.dtype) for size in self.shape), None)",
        0,
    ): SPEED_ONLY + "zero factors of any width predict zero",
    (
        FACTORED + "entry_sums.py",
        "FullEntries.label_losses",
        "parts = self._each(lambda part: self.numbers(D, part).sum(axis=0, dtype=np.float64), "
        "A.shape[1])",
        "parts = self._each(lambda part: self.numbers(D, part).sum(axis=0, dtype=np.float64), "
        "A.shape[0])",
        0,
    ): SPEED_ONLY + "an estimate of the work, for threads",
    (
        FACTORED + "entry_sums.py",
        "FullEntries._each",
        "work = float(self.shape[0]) * self.shape[1] * k",
        "work = float(self.shape[0]) * self.shape[1] / k",
        0,
    ): SPEED_ONLY + "an estimate of the work, for threads",
    (
        FACTORED + "splitting.py",
        "Splitting.run",
        "W, H = (Z, identity) if Z.shape[0] >= Z.shape[1] else (identity, Z.T)",
        "W, H = (Z, identity) if Z.shape[0] > Z.shape[1] else (identity, Z.T)",
        0,
    ): "a square Z is Z I as well as I Z",
    (
        FACTORED + "splitting.py",
        "Splitting._step",
        "if bound > self.bound:",
        "if bound >= self.bound:",
        0,
    ): "of two points with the same bound either will do",
    (
        LINALG + "compiled.py",
        "multiply",
        "part = panel[t * tile:(t + 1) * tile]",
        "part = panel[t * tile:(t + 1) * tile + 1]",
        0,
    ): "indices are local to the tile and below its width",
    (
        LINALG + "factors.py",
        "gram",
        "parts = even_rows(A.shape[0], float(A.size) * A.shape[1], SHARED_PRODUCT)",
        "parts = even_rows(A.shape[0], float(A.size) / A.shape[1], SHARED_PRODUCT)",
        0,
    ): SPEED_ONLY + "an estimate of the work, for threads",
    (
        LINALG + "factors.py",
        "balancing",
        "squares, U = scipy.linalg.eigh(L.T @ W_gram @ L, driver='evd', check_finite=False)",
        "squares, U = scipy.linalg.eigh(L.T @ W_gram @ L, driver='evd', check_finite=True)",
        0,
    ): SPEED_ONLY + "a check of numbers that are finite",
    (
        LINALG + "threads.py",
        "even_rows",
        "count = thread_count() if work >= threshold else 1",
        "count = thread_count() if work > threshold else 1",
        0,
    ): SPEED_ONLY + "the limit itself may go either way",
    (
        LINALG + "threads.py",
        "parallel_map",
        "if size == 1 or not worth or len(parts) == 1:",
        "if size == 1 or not worth or len(parts) != 1:",
        0,
    ): SPEED_ONLY + "several parts one after the other",
    (
        BLOCKED + "block.py",
        "labels_with_missing",
        "return Labels(labels.shape, labels.complete, None, none)",
        "return labels",
        0,
    ): SPEED_ONLY + "full labels work beside others, with n x L numbers in memory",
    (
        BLOCKED + "passes.py",
        "LocalPasses._each",
        "for later in self.blocks[number + threads:number + threads + 1]:",
        "for later in self.blocks[number + threads:number + threads + 0]:",
        0,
    ): SPEED_ONLY + "a file is asked for ahead of its use",
    (
        BLOCKED + "problem.py",
        "CountedPasses.total",
        "self.columns += columns * (sent[0].array.shape[1] if sent else 0)",
        "self.columns += columns * (sent[0].array.shape[1] if sent else 1)",
        0,
    ): "a pass that sends nothing has no columns to count",
}
