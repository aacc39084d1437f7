"""Statements of Sections 1 and 2, with their verdicts."""

from __future__ import annotations

from paper_checks.registry import Kind, Statement, Verdict

STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="F1",
        place="Section 1",
        statement="A full linear model of 10^4 labels and 10^6 features takes about 100 gigabytes.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.HOLDS,
        how="Count the numbers of the d x L matrix, eight bytes each: 80 GB.",
        refuted_by="A size that is off by more than a factor of 1.5.",
    ),
    Statement(
        id="F2",
        place="Section 1",
        statement="The fast operations are faster than direct computation by the average number "
        "of nonzero features of a point.",
        kind=Kind.RATE,
        verdict=Verdict.HIDDEN,
        how="Count multiplications of a gradient through every h_j (x) x_i and through Algorithm "
        "1, for s = 2, 10, 40 labels seen a point and 10 or 40 nonzeros a point.",
        refuted_by="A gain that differs from s d/(s + d), or one of order d for small s.",
        correct="The gain is s d/(s + d), of the order of the smaller of s = |Omega|/n and the "
        "number d of nonzeros; it is of order d only if |Omega| is at least nnz(X).",
    ),
    Statement(
        id="F3",
        place="Section 1",
        statement="For isotropic data the trace norm gives excess risk of order 1/sqrt(nL).",
        kind=Kind.RATE,
        verdict=Verdict.FALSE,
        how="Measure the excess risk at the worst planted signal for d = 8 with L = 8 and L = "
        "2048, and compare the two terms of Theorem 4.",
        refuted_by="Excess risk times sqrt(nL) that stays bounded as L grows beyond d.",
        correct="Of order (1/sqrt(L) + 1/sqrt(d))/sqrt(n) in expectation, for n of at least order "
        "L: the rate stops improving at L = d. With probability 1 - delta Theorem 4 adds a term "
        "sqrt(log(1/delta)/n), larger by sqrt(L log(1/delta)) for a radius of 1.",
    ),
    Statement(
        id="F4",
        place="Section 1",
        statement="Training takes orders of magnitude less time than with several other methods.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.FALSE,
        how="Divide the training times of WSABIE by those of LEML in Table 4.",
        refuted_by="A ratio of ten or more in Table 4, the only table with training times.",
        correct="LEML is 1.6 to 8.2 times as fast as WSABIE in Table 4; no other times are "
        "printed.",
    ),
    Statement(
        id="F5",
        place="Section 2",
        statement="y_i^j = 1 says that the l-th label is present.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.MISPRINT,
        how="Compare the indices that the formula binds with those the words use.",
        refuted_by="A formula that binds l.",
        correct="It says that the j-th label is present.",
    ),
    Statement(
        id="F6",
        place="Equation (1)",
        statement="lambda weighs the regulariser in Equations (1) and (2); in Section 4 the same "
        "letter is the radius of the ball.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.MISPRINT,
        how="Solve one problem with penalty 2 and with radius 2, and with the radius that the "
        "penalised solution has.",
        refuted_by="Equal predictors for penalty 2 and radius 2.",
        correct="Two names are needed. The penalised minimiser is the constrained one whose "
        "radius is its own trace norm.",
    ),
    Statement(
        id="F7",
        place="Equation (2)",
        statement="The rank-constrained problem is NP-hard in general.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.HOLDS,
        how="By citation; the reduction is run on small graphs: with X the identity, rank one and "
        "entries observed repeatedly, the best fit must find the largest biclique.",
        refuted_by="A weighted rank-one fit whose least error is not edges minus largest biclique.",
    ),
    Statement(
        id="F8",
        place="Claim 1",
        statement="With X = U S V^T and M = U^T Y, the matrix V S^-1 M_k minimises |Y - XZ|_F^2 "
        "over rank(Z) <= k.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Random and adversarial data (n < d, rank-deficient and ill-conditioned X, k above a "
        "rank, ties, sparse labels, centred or not): squared error against the Eckart-Young value "
        "from a QR decomposition, rank, and alternating least squares from random starts.",
        refuted_by="A squared error away from that value by more than rounding, or undercut.",
    ),
    Statement(
        id="F8.1",
        place="Equation (3)",
        statement="That matrix is the minimiser, with the thin decomposition of X.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HIDDEN,
        how="Compare with alternating least squares where X has full column rank and sigma_k > "
        "sigma_{k+1}; where either fails, write down another minimiser; invert the zero singular "
        "values that a thin decomposition keeps.",
        refuted_by="Two minimisers under both assumptions, or only one without them.",
        correct="It is the only minimiser if and only if X has full column rank and sigma_k > "
        "sigma_{k+1} (or sigma_{k+1} = 0) for M. Zero singular values of X must be left out; then "
        "it is the minimiser of least norm, given M_k.",
    ),
    Statement(
        id="F9",
        place="Claim 1",
        statement="Third line of the proof: the norm of a sum of two orthogonal parts is replaced "
        "by the sum of their norms (and the fifth line has a stray parenthesis).",
        kind=Kind.EQUALITY,
        verdict=Verdict.MISPRINT,
        how="Evaluate both sides at random Z.",
        refuted_by="Equal sides, or a second part that depends on Z.",
        correct="Norms squared: |a + b|^2 = |a|^2 + |b|^2. The minimiser is the same either way, "
        "since the second part does not depend on Z.",
    ),
    Statement(
        id="F10",
        place="Claim 2",
        statement="The closed form of CPLST, without centring, is the minimiser of Equation (3).",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="The instances of Claim 1: predictor and objective of both closed forms, and of the "
        "route through the eigenvectors of Y^T X X^+ Y.",
        refuted_by="Predictors or objectives farther apart than rounding explains.",
    ),
    Statement(
        id="F10.1",
        place="Equation (4)",
        statement="The objective of CPLST is the squared error of the predictor W H^T.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HOLDS,
        how="Evaluate both at random W and random H with orthonormal columns, and with H scaled.",
        refuted_by="Different values at a feasible pair.",
        correct="Stronger than the claim: |XW - YH|^2 + |Y - YHH^T|^2 = |Y - XWH^T|^2 at every "
        "feasible pair, so both problems are one, ties or not.",
    ),
    Statement(
        id="F10.2",
        place="Claim 2",
        statement="Both closed forms are the same matrix.",
        kind=Kind.EQUALITY,
        verdict=Verdict.HIDDEN,
        how="With sigma_k = sigma_{k+1}, write down a second solution of Equation (4).",
        refuted_by="One predictor in spite of a tie.",
        correct="For sigma_k > sigma_{k+1} (or k at least the rank of M) and k <= L; with a tie "
        "they are two minimisers of one problem.",
    ),
    Statement(
        id="F10.3",
        place="Claim 2",
        statement="CPLST as Chen and Lin (2012) define it is a special case of Equation (1).",
        kind=Kind.EQUALITY,
        verdict=Verdict.HIDDEN,
        how="Fit with and without centring the labels, on labels with and without a mean.",
        refuted_by="Equal predictions on labels that are not centred.",
        correct="For labels whose mean has been subtracted, as the original method does.",
    ),
    Statement(
        id="F11",
        place="Claim 2",
        statement="The proof writes V_X^T S^-1 and the truncated decomposition as U_k S_k V_k.",
        kind=Kind.EQUALITY,
        verdict=Verdict.MISPRINT,
        how="Form the printed products: their shapes, and where d equals the rank, their values.",
        refuted_by="Printed products that conform and minimise.",
        correct="V_X S^-1, and U_k S_k V_k^T.",
    ),
    Statement(
        id="F12",
        place="Section 2.1",
        statement="The squared loss is |y - f|^2, and in Table 1 half of it.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.MISPRINT,
        how="Compare Equation (12) with exact slopes of both, and the minimisers with penalties 2 "
        "and 1.",
        refuted_by="A gradient (12) that belongs to |y - f|^2.",
        correct="Equations (12) and (13) belong to |y - f|^2 / 2; without the half, lambda "
        "doubles.",
    ),
    Statement(
        id="F13",
        place="Section 2.1",
        statement="CPLST overfits when there are many features, and a penalty prevents that.",
        kind=Kind.CONSISTENCY,
        verdict=Verdict.HOLDS,
        how="Planted predictors of rank 2 with noise, n = 60: excess risk of the closed form over "
        "that with a penalty of the noise's size, for d = 50 and d = 3.",
        refuted_by="No gain from a penalty at d = 50.",
    ),
)
