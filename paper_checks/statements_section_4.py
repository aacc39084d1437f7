"""Statements of Section 4: the learning model, Theorems 3 and 4 and what is said around them."""

from __future__ import annotations

from paper_checks.registry import Kind, Statement, Verdict

STATEMENTS: tuple[Statement, ...] = (
    Statement(
        "T1",
        "Section 4",
        "The empirical risk, a sum over the s observed labels of a point divided by n, estimates "
        "the population risk of one random label.",
        Kind.CONSISTENCY,
        Verdict.FALSE,
        "Logistic loss at Z = 0, where both risks are known exactly, with s = 10.",
        "The printed empirical risk equal to the population risk for s > 1.",
        "Divide the empirical risk by n s; the sum as printed estimates s times the population "
        "risk.",
    ),
    Statement(
        "T2",
        "Section 4",
        "Matrices of bounded rank form a smaller class than matrices of bounded trace norm, so "
        "with the rank constraint one may expect better generalisation than the bounds say.",
        Kind.EQUALITY,
        Verdict.HIDDEN,
        "The supremum of <Z, V> over the trace ball is attained at a matrix of rank one.",
        "A maximiser over the trace ball of rank above one, or a smaller supremum at some rank.",
        "The class is smaller only with both constraints, and even then its Rademacher average is "
        "the same for every rank k >= 1, the extreme points of the ball having rank one: these "
        "bounds do not improve.",
    ),
    Statement(
        "T3",
        "Theorem 3",
        "The risk of the minimiser is at most 'arg inf' of the population risk plus two numbers.",
        Kind.CONSISTENCY,
        Verdict.MISPRINT,
        "The size of the arg inf, a d x L matrix, and the inequality with inf in its place.",
        "An arg inf that is a number, or an excess risk below zero or above its bound.",
        "inf in place of arg inf on the right; so also in Theorems 4 and 6.",
    ),
    Statement(
        "T3.1",
        "Theorem 3",
        "The excess risk is of order radius/sqrt(n) at most, for any features with E|x|^2 <= 1.",
        Kind.RATE,
        Verdict.HOLDS,
        "Exact excess risk for one feature and one label against 2 C R_n; Rademacher averages of "
        "rank-one and of heavy-tailed features.",
        "A mean excess or average above its bound, or an exponent other than -1/2.",
    ),
    Statement(
        "T3.2",
        "Theorem 3",
        "E|x|^2 <= 1 may be assumed without loss of generality.",
        Kind.UPPER_BOUND,
        Verdict.HIDDEN,
        "One label and Gaussian x in R^d, where R_n is the mean of a chi variable, raw and "
        "divided by sqrt(d).",
        "Raw features within the printed bound, or normalised ones above it.",
        "Scaling x scales the bound: radius sqrt(E|x|^2/n).",
    ),
    Statement(
        "T3.3",
        "Theorem 3",
        "With probability 1 - delta the second term is sqrt(log(1/delta)/n), whatever the loss.",
        Kind.COUNTEREXAMPLE,
        Verdict.FALSE,
        "Linear loss, one feature and label, a rare outlier of size sqrt(n/delta): exact binomial "
        "probability and exact excess.",
        "An excess that stays within a constant times the promise as delta falls.",
        "The loss must be bounded, which the theorem does not say and its proof uses; then B, the "
        "length of its range, multiplies the term. In expectation, 2 C R_n, no bound is needed.",
    ),
    Statement(
        "T3.4",
        "Theorem 3",
        "With s observed labels a point both terms grow by the factor s.",
        Kind.UPPER_BOUND,
        Verdict.LOOSE,
        "Deviation of the normalised risk at s = 1 and s = 16; exact deviation when the number of "
        "labels a point is random.",
        "A deviation of the normalised risk that grows with s.",
        "For the risk divided by s the factor cancels: 2 C R_n + B sqrt(2 log(1/delta)/n), each "
        "point with its labels being one block. It must be the same s for every point: with "
        "Bernoulli entries the bound fails.",
    ),
    Statement(
        "T3.5",
        "Theorem 3",
        "The constant of the second term does not depend on the radius.",
        Kind.COUNTEREXAMPLE,
        Verdict.HIDDEN,
        "Linear loss at radius 1000: exact probability of an excess above the bound with range "
        "one; Bousquet's bound beside McDiarmid's.",
        "An excess within the bound with range one, whatever the radius.",
        "It is B, for the linear loss 2 radius sup|x|. Without clipping that swamps "
        "radius/sqrt(nL); Bousquet: 2 C R_n + sqrt(2t(4C^2 r^2 sigma_1 P + 16 C^2 r R R_n)/n) + "
        "4CrRt/(3n), with radius r, |x| <= R, t = log(1/delta).",
    ),
    Statement(
        "T3.6",
        "Section 4",
        "The analysis by uniform convergence is tight and cannot be improved in general.",
        Kind.RATE,
        Verdict.HOLDS,
        "Rank-one features: supremum deviation over Theorem 3; excess risk there and for a fixed "
        "planted signal.",
        "A deviation that stays below a constant share of Theorem 3.",
    ),
    Statement(
        "T3.7",
        "Theorem 3",
        "The Lipschitz constant of the loss is a constant, for the squared loss too.",
        Kind.UPPER_BOUND,
        Verdict.HIDDEN,
        "Exact supremum deviation for x of two values and the squared loss at radius 100.",
        "A deviation within the bound with C = 1.",
        "C = 1 + radius R for labels in [0, 1] and |x| <= R, so the bound is of order radius (1 + "
        "radius R)/sqrt(n); for Gaussian x there is none.",
    ),
    Statement(
        "T4.1",
        "Theorem 4",
        "For unit normal features the excess is of order radius/sqrt(nL).",
        Kind.UPPER_BOUND,
        Verdict.HIDDEN,
        "One label, d = 20,000, where R_n is exact; Monte Carlo at d = L = 32, raw and normalised.",
        "Raw N(0, I) features within the bound, constant c3 included.",
        "x must be divided by sqrt(E|x|^2) = sqrt(d); raw N(0, I) is off by sqrt(d).",
    ),
    Statement(
        "T4.2",
        "Theorem 4",
        "The rate radius/sqrt(nL) holds whatever d and L are.",
        Kind.RATE,
        Verdict.HIDDEN,
        "Rademacher average at d = 1, L = 65,536 and n = 10^11 against the bound with its "
        "constant; slopes in L at fixed d and at d = L.",
        "A slope near -1/2 in L at fixed d < L.",
        "It needs d >= L, which is said inside Appendix B.4 only; at fixed d the average "
        "saturates at radius/sqrt(nd).",
    ),
    Statement(
        "T4.3",
        "Theorem 4",
        "The excess risk obeys the bound for more labels than features too.",
        Kind.COUNTEREXAMPLE,
        Verdict.FALSE,
        "d = 1, x = +-1, y = x with probability (1 + sqrt(L/n))/2, loss -clip(y f), radius "
        "sqrt(L), n as the proof asks: exact binomial sums.",
        "An excess times sqrt(n) that stays bounded as L grows.",
        "For L > d only radius/sqrt(nd) can hold; here the excess is 2 Phi(-1) sqrt(L/n), against "
        "a claim of order 1/sqrt(n), with a loss bounded by one.",
    ),
    Statement(
        "T4.4",
        "Theorem 4",
        "The rate holds whatever n and L are.",
        Kind.RATE,
        Verdict.HIDDEN,
        "n = 1, where the average is |x| exactly, at d = L = 20,000; Monte Carlo at n = L/16, L, "
        "64 L.",
        "An average times sqrt(nL) that stays the same down to n = 1.",
        "n of the order of L at least; the proof's n of the order of L^2 log L is not necessary.",
    ),
    Statement(
        "T4.5",
        "Section 4",
        "Any distribution of compact support satisfies the conditions of Theorem 4.",
        Kind.COUNTEREXAMPLE,
        Verdict.FALSE,
        "The eta^2 that condition 3 asks for at small v, for x of two values and positive mean; "
        "the same for the symmetrised x.",
        "A finite eta^2 for a bounded x with E x != 0.",
        "Condition 3 forces E x = 0, which no non-negative feature has. Ask it of the symmetrised "
        "x, E cosh<x, v> <= exp(eta^2 |v|^2/2): then eta = sup|x| will do and the proof is "
        "unchanged.",
    ),
    Statement(
        "T4.6",
        "Theorem 4",
        "The bound depends on eta^2 + sigma_1.",
        Kind.UPPER_BOUND,
        Verdict.LOOSE,
        "Small-v limit of condition 3 by enumeration.",
        "A law with eta^2 below sigma_1.",
        "Condition 3 implies sigma_1 <= eta^2, so 2 eta^2 serves: a factor sqrt(2) at most.",
    ),
    Statement(
        "T4.7",
        "Theorem 4",
        "The bound sqrt(d (eta^2 + sigma_1)/(n L Sigma)) is the right one for anisotropic "
        "features.",
        Kind.UPPER_BOUND,
        Verdict.LOOSE,
        "Gaussian x with eigenvalues 1/i: Monte Carlo, Chevet's bound, the paper's form, Theorem "
        "3.",
        "A measured average above half of the paper's form.",
        "Sharp up to constants: (sqrt(sigma_1) + sqrt(Sigma/L))/sqrt(n). With the trivial eta = "
        "sup|x| the paper's form is never below Theorem 3's when d >= L.",
    ),
    Statement(
        "T4.8",
        "Section 4",
        "For certain distributions Theorem 4 gives the trace ball superior bounds, such as the "
        "features one meets.",
        Kind.RATE,
        Verdict.HIDDEN,
        "Rademacher averages for x = |g|/sqrt(d) and for signs/sqrt(d).",
        "A non-negative x with an average as small as that of a centred one.",
        "The features must be nearly isotropic and centred; non-negative ones have sigma_1 above "
        "0.63 E|x|^2, and the advantage nearly disappears.",
    ),
    Statement(
        "T5",
        "Section 4",
        "Appendix C.2 proves that Frobenius regularisation has an excess error of radius/sqrt(n) "
        "at least.",
        Kind.COUNTEREXAMPLE,
        Verdict.FALSE,
        "Population risk of the Frobenius minimiser in the world of C.2; measured excess in the "
        "planted world.",
        "A positive excess risk in the world of Appendix C.2.",
        "There the excess is zero: C.2 bounds the generalisation gap. The statement is true by "
        "another world, with planted labels, where the worst excess is 0.3003 radius/sqrt(n).",
    ),
    Statement(
        "T6",
        "Section 4",
        "At radius sqrt(L) the trace ball has excess of order 1/sqrt(n), the Frobenius ball "
        "sqrt(L/n).",
        Kind.RATE,
        Verdict.HIDDEN,
        "Both averages at radius sqrt(L) for d = L, d = 1 and n < L; McDiarmid and Bousquet as L "
        "grows.",
        "A trace average that grows with L = d, or one that does not at d = 1.",
        "Needs d >= L, n of the order of L at least, and a bounded loss or Bousquet's inequality.",
    ),
    Statement(
        "T7",
        "Section 4",
        "One predictor for all labels has |z 1^T|_tr <= sqrt(L).",
        Kind.EQUALITY,
        Verdict.HIDDEN,
        "Trace norm and size of predictions for |z| = 1, |z| = 2 and |z| = sqrt(d).",
        "A trace norm other than |z| sqrt(L).",
        "Needs |z| <= 1, with which isotropic x of norm one is predicted at the size 1/sqrt(d); "
        "predictions of order one need the radius sqrt(dL).",
    ),
    Statement(
        "T8",
        "Appendix B",
        "The excess risk is at most two uniform deviations.",
        Kind.UPPER_BOUND,
        Verdict.LOOSE,
        "Exact probability of an excess above the sharper bound, one feature and one label.",
        "An excess above the sharper bound with probability above delta.",
        "One deviation, centred at the best Z: 2 C R_n + B sqrt(2 log(1/delta)/n); the paper's "
        "own constants are 8 C R_n and 2B sqrt((1 + 1/s) log(2/delta)/(2n)).",
    ),
    Statement(
        "T9",
        "Section 4",
        "When all labels share one predictor, learning it from all n points beats learning one "
        "predictor a label from n/L points, and trace regularisation comes nearer to it.",
        Kind.RATE,
        Verdict.HOLDS,
        "Squared loss, shared predictor, exact minimisers of both balls and pooled least squares.",
        "A trace excess not below the Frobenius one.",
    ),
)
