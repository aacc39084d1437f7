"""Statements of Section 3 and Appendix A, with their verdicts."""

from __future__ import annotations

from paper_checks.registry import Kind, Statement, Verdict

STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="A1",
        place="Section 3",
        statement="The trace norm of W H^T is (|W|_F^2 + |H|_F^2) / 2.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HIDDEN,
        how="Many random factorisations of one Z, and the balanced one.",
        refuted_by="A factorisation below the trace norm, or a balanced one above it.",
        correct="It is the minimum over factorisations with at least rank(Z) columns, attained by "
        "the balanced one; any other is larger.",
    ),
    Statement(
        id="A2",
        place="Equation (5)",
        statement="Minimising over W and H is minimising over Z of rank at most k.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Compare the solver's factors for k = min(d, L) with proximal gradients over Z and "
        "with its own certificate; for k = 2, compare penalty and trace norm at the end.",
        refuted_by="Minima that differ by more than the certified gap.",
    ),
    Statement(
        id="A3",
        place="Section 3",
        statement="For fixed W the objective is convex in H, and for fixed H in W.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.HOLDS,
        how="Least eigenvalues of both Hessians for the three losses of Table 1 (with its "
        "derivatives corrected).",
        refuted_by="An eigenvalue below the penalty.",
    ),
    Statement(
        id="A4",
        place="Section 3",
        statement="Alternating minimisation converges to a stationary point if both subproblems "
        "have unique minimisers.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.HOLDS,
        how="Gradient in W and H at the end, for the three losses with missing labels; a positive "
        "penalty makes both subproblems strongly convex. Without one, W with dependent columns "
        "leaves the H-problem without a unique minimiser.",
        refuted_by="A gradient that does not vanish.",
    ),
    Statement(
        id="A5",
        place="Section 3",
        statement="For squared loss and full labels it converges to the global minimum if lambda "
        "= 0 or X is orthogonal.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HIDDEN,
        how="Random starts in both cases against the closed-form minimum; starts at W = 0 and on "
        "trailing singular vectors, and the latter moved by 1e-6.",
        refuted_by="A random start that ends above the minimum, or a saddle start that leaves.",
        correct="From almost every start (a random one, say). W = 0 and starts orthogonal to a "
        "leading singular vector are never left in exact arithmetic.",
    ),
    Statement(
        id="A6",
        place="Section 6",
        statement="Alternating minimisation reaches the global minimum for general X and lambda > "
        "0 as well (the paper does not claim it: it leaves the question open).",
        kind=Kind.COUNTEREXAMPLE,
        verdict=Verdict.FALSE,
        how="X = diag(1, 3), Y = diag(3, 13/6), lambda = 1, k = 1: values and Hessians of the two "
        "solutions on the axes in closed form, and random starts.",
        refuted_by="A worse solution that is not a strict minimum, or that no start ends in.",
        correct="It does not. The example has strict local minima of value 4.847 and 5.167, and a "
        "good part of random starts end in the worse. For diagonal X and Y, a_i = x_i y_i and r = "
        "x_2^2 / x_1^2, both are strict minima iff (r (a_1 - mu) + mu) a_1 > a_2^2 and ((a_2 - "
        "mu)/r + mu) a_2 > a_1^2, which exclude each other exactly when mu = 0 or r = 1, the "
        "paper's two cases. With k = 2 all starts reach the convex minimum.",
    ),
    Statement(
        id="A7",
        place="Equation (6)",
        statement="For fixed W each row of H is a regression on the k features X W of its own "
        "points.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="One update of H by the solver against one ridge regression a label, with missing "
        "labels.",
        refuted_by="A row that is not the minimiser of its own problem.",
    ),
    Statement(
        id="A7.1",
        place="Equation (7)",
        statement="For fixed H, W is one regression with the |Omega| points h_j (x) x_i.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Write the design out; compare objective and minimiser with the solver's.",
        refuted_by="Different objectives or minimisers.",
    ),
    Statement(
        id="A8",
        place="Section 3",
        statement="The average number of nonzeros is the sum over i of |x|_0 / n.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.MISPRINT,
        how="Evaluate the printed sum for every choice of x.",
        refuted_by="One value whatever x is.",
        correct="|x_i|_0 under the sum.",
    ),
    Statement(
        id="A9",
        place="Section 3",
        statement="The design has O(|Omega| d k) nonzeros, d the average number of nonzero "
        "features.",
        kind=Kind.RATE,
        verdict=Verdict.HIDDEN,
        how="Count, with labels spread independently of density, and with one dense point that "
        "has most labels.",
        refuted_by="A count within a constant of the formula for the dense point.",
        correct="The count is k sum_i |Omega_i| |x_i|_0; the formula holds if points with more "
        "labels seen are not the denser ones.",
    ),
    Statement(
        id="A10",
        place="Equation (8)",
        statement="The gradient of g is the sum of l' times h_j (x) x_i, plus lambda w.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Against central differences of g, three losses.",
        refuted_by="A slope that differs.",
    ),
    Statement(
        id="A10.1",
        place="Equation (9)",
        statement="The Hessian of g is the sum of l'' times the outer products, plus lambda I.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Against central differences of the gradient, three losses, away from the hinge's "
        "kinks.",
        refuted_by="A slope of the gradient that differs.",
    ),
    Statement(
        id="A10.2",
        place="Section 3.1",
        statement="(B^T (x) A) vec(S) = vec(A S B), and h (x) x = vec(x h^T).",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Random matrices, columns stacked; rows stacked for comparison.",
        refuted_by="A difference beyond rounding.",
    ),
    Statement(
        id="A10.3",
        place="Equation (10)",
        statement="The gradient is vec(X^T D H) + lambda w, D the derivatives at the observed "
        "entries.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="The solver's Algorithm 1 against the sum of Equation (8), three losses, missing "
        "labels.",
        refuted_by="A difference beyond rounding.",
    ),
    Statement(
        id="A10.4",
        place="Equation (11)",
        statement="The Hessian times s is vec(X^T U H) + lambda s.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="The solver's Algorithm 1 against the Hessian of Equation (9) written out, three "
        "losses.",
        refuted_by="A difference beyond rounding.",
    ),
    Statement(
        id="A11",
        place="Table 1",
        statement="Squared loss (a - b)^2 / 2: derivatives b - a and 1.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Differences in fifty decimal digits, for the printed formulas and for `leml_solver`.",
        refuted_by="A difference beyond double precision.",
    ),
    Statement(
        id="A12",
        place="Table 1",
        statement="Logistic loss: first derivative -a / (1 + exp(-ab)).",
        kind=Kind.EQUALITY,
        verdict=Verdict.MISPRINT,
        how="Differences in fifty decimal digits; the gradient that the printed formula would "
        "give.",
        refuted_by="A printed formula that agrees, or ours that does not.",
        correct="-a / (1 + exp(ab)).",
    ),
    Statement(
        id="A13",
        place="Table 1",
        statement="Logistic loss: second derivative -a^2 exp(-ab) / (1 + exp(-ab))^2.",
        kind=Kind.EQUALITY,
        verdict=Verdict.MISPRINT,
        how="Differences in fifty decimal digits; the least eigenvalue of the Hessian it would "
        "give.",
        refuted_by="A printed formula that agrees, or ours that does not.",
        correct="+a^2 exp(-ab) / (1 + exp(-ab))^2. With the printed sign the Hessian is negative "
        "and Newton's method breaks down.",
    ),
    Statement(
        id="A14",
        place="Table 1",
        statement="Squared hinge loss for labels -1 and +1: derivatives -2a max(0, 1 - ab) and 2 "
        "where ab < 1.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Differences in fifty decimal digits away from the kink; labels -2 and +2 for "
        "comparison.",
        refuted_by="A difference beyond double precision for labels -1 and +1.",
        correct="For other labels the second derivative is 2 a^2 where ab < 1.",
    ),
    Statement(
        id="A15",
        place="Algorithm 1",
        statement="Gradient and Hessian product cost O((nnz(X) + |Omega| + d) k).",
        kind=Kind.RATE,
        verdict=Verdict.HOLDS,
        how="Count multiplications with X in the solver, plus two passes over the entries, for "
        "three densities.",
        refuted_by="A count above twice the formula.",
    ),
    Statement(
        id="A16",
        place="Section 3.2",
        statement="Algorithm 2 takes O((nnz(X) + nnz(Y)) k + (n + L) k^2) time.",
        kind=Kind.RATE,
        verdict=Verdict.HIDDEN,
        how="Count multiplications in the solver's Algorithm 2, for d below and far above nnz(X).",
        refuted_by="A count within a constant of the formula for d far above nnz(X).",
        correct="Add d k, needed for lambda w and for the result itself; it is covered by nnz(X) "
        "k only if X has no more columns than nonzeros.",
    ),
    Statement(
        id="A17",
        place="Equation (12)",
        statement="Squared loss, full labels: the gradient is vec(X^T X W H^T H - X^T Y H) + "
        "lambda w.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Against the sum of Equation (8); with half of the labels missing it must differ.",
        refuted_by="A difference beyond rounding with full labels.",
    ),
    Statement(
        id="A17.1",
        place="Equation (13)",
        statement="Squared loss, full labels: the Hessian times s is vec(X^T X S H^T H) + lambda "
        "s.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Against the Hessian of Equation (9) written out.",
        refuted_by="A difference beyond rounding.",
    ),
    Statement(
        id="A17.2",
        place="Algorithm 2",
        statement="The algorithm for squared loss and full labels solves the W-problem.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="The solver's Algorithm 2 with conjugate gradients to the end, against the dk x dk "
        "system.",
        refuted_by="Another solution.",
    ),
    Statement(
        id="A18",
        place="Algorithm 3",
        statement="Conjugate gradients solve the W-problem with the squared loss.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="The solver's iterates against the printed recursion, and both against the dense "
        "solution.",
        refuted_by="Iterates that differ, or a limit that is not the solution.",
    ),
    Statement(
        id="A18.1",
        place="Appendix A.1",
        statement="The Hessian does not depend on w for the squared loss.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Hessians at two points, for the squared and for the logistic loss.",
        refuted_by="A change with the squared loss.",
    ),
    Statement(
        id="A19",
        place="Section 3.2",
        statement="Kernels: with f = Z^T k(x) the same trace norm can be imposed on the "
        "coefficients Z.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HIDDEN,
        how="Linear kernel against the linear method: predictions with |Z|_tr and with |K^(1/2) "
        "Z|_tr on the coefficients, and with K the identity.",
        refuted_by="Equal predictions with |Z|_tr for a general Gram matrix.",
        correct="The method carried over to kernels has the penalty |K^(1/2) Z|_tr, K the Gram "
        "matrix; on coefficients |Z|_tr is another method, the same only if K is the identity.",
    ),
    Statement(
        id="A20",
        place="Section 5.2",
        statement="Binary relevance with an l2 penalty a label minimises Equation (2) with the "
        "Frobenius norm.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HIDDEN,
        how="Gradient of the joint problem at the labels' ridge regressions; their rank, and the "
        "minimum under rank at most 2.",
        refuted_by="A gradient that does not vanish, or a rank constraint that costs nothing.",
        correct="With the squared norm, and without the rank constraint of Equation (2).",
    ),
)
