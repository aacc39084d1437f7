"""Statements of Appendix C: the lower bounds."""

from __future__ import annotations

from paper_checks.registry import Kind, Statement, Verdict

STATEMENTS: tuple[Statement, ...] = (
    Statement(
        "C1",
        "Claim 7",
        "For some distribution and loss the trace minimiser's population risk exceeds its "
        "training loss by a constant times radius/sqrt(n), with constant probability.",
        Kind.RATE,
        Verdict.HOLDS,
        "Rank-one features, all labels one, linear loss: the solver's minimiser, the expected gap "
        "and its exact tail.",
        "A gap other than |v|/n, or one that falls faster than 1/sqrt(n).",
    ),
    Statement(
        "C2",
        "Claim 7",
        "The minimiser is -mu v^T/|v|.",
        Kind.EQUALITY,
        Verdict.HOLDS,
        "Against the ball's linear minimiser, at radius 1 and 3.",
        "Another minimiser at radius one.",
    ),
    Statement(
        "C3",
        "Lemma 2",
        "E W^2 <= 2 n^2/L.",
        Kind.UPPER_BOUND,
        Verdict.HOLDS,
        "All signs and labels listed: 2n(n-1)/L exactly.",
        "A second moment other than 2n(n-1)/L.",
    ),
    Statement(
        "C3.1",
        "Lemma 2",
        "The calculation estimates the variance of Z.",
        Kind.CONSISTENCY,
        Verdict.MISPRINT,
        "The variances of both over all signs and labels.",
        "A minimiser Z with the variance of W.",
        "The variance of W.",
    ),
    Statement(
        "C4",
        "Lemma 2",
        "|v|^2 >= n/2 with probability 3/4 at least, whatever L is.",
        Kind.UPPER_BOUND,
        Verdict.HIDDEN,
        "Exact probabilities, by convolution over labels, in place of simulation.",
        "A probability of 3/4 at L = 4, or below 3/4 at L = 6.",
        "L >= 32, which the proof assumes (L > 32 there), or 24 by Cantelli's inequality. By "
        "exact count it holds from L = 6 on for every n tried and fails at L = 5, n = 7 (0.723) "
        "and, for n large, at L <= 4.",
    ),
    Statement(
        "C5",
        "Claim 8",
        "The columns of the matrix X are sums over i = 1 to L.",
        Kind.CONSISTENCY,
        Verdict.MISPRINT,
        "Both sums in -|X|_F/n, against the empirical risk of the minimiser.",
        "The sum to L giving the empirical risk.",
        "Sums over i = 1 to n. (X is also the data and, in Theorem 4, their covariance.)",
    ),
    Statement(
        "C6",
        "Claim 8",
        "Rademacher vectors over sqrt(d) are sub-Gaussian with eta^2 = 2/d.",
        Kind.UPPER_BOUND,
        Verdict.LOOSE,
        "All 2^d vectors: the eta^2 asked for at many v.",
        "An eta^2 asked for above 2/d, or the smallest one other than 1/d.",
        "eta^2 = 1/d, since cosh t <= exp(t^2/2), and no less: it is the variance.",
    ),
    Statement(
        "C7",
        "Lemma 3",
        "|X|_F^2 >= n/2 with probability 3/4 at least, whatever d and L are; E W^2 <= 2n^2/(Ld).",
        Kind.UPPER_BOUND,
        Verdict.HIDDEN,
        "Exact probabilities by convolution; the variance by enumeration.",
        "A probability of 3/4 at d = L = 1 or 2, or below 3/4 at L d = 6.",
        "L d >= 32, which the proof assumes (L d > 32 there); by exact count it holds from L d = "
        "6 on for every n tried, and fails at L d <= 5 for some n. The variance is 2n(n-1)/(Ld).",
    ),
    Statement(
        "C8",
        "Claim 8",
        "On the same distribution the trace minimiser's gap is O(radius/sqrt(nL)) + "
        "O(sqrt(log(1/delta)/n)), which separates it from the Frobenius one.",
        Kind.CONSISTENCY,
        Verdict.HIDDEN,
        "McDiarmid's second term against the Frobenius lower bound; Bousquet's bound, with d = L "
        "and d = 1; a centred law that is not symmetric.",
        "A second term below the Frobenius lower bound, or Bousquet's bound above it.",
        "Needs d >= L, and as stated separates nothing: the second term, with the range 2 radius "
        "of the loss, is above the Frobenius lower bound at every radius. Bousquet's inequality "
        "does separate: R_n + sqrt(2t(r^2 sigma_1 P + 2 r R R_n)/n) + r R t/(3n), y x being "
        "symmetric given the label; risk zero on the ball is not enough for the mean R_n, else it "
        "is 2 R_n.",
    ),
    Statement(
        "C9",
        "Appendix C",
        "For each of Theorems 3 and 4 there is a distribution whose deviation is as large as "
        "predicted, up to a constant.",
        Kind.RATE,
        Verdict.HOLDS,
        "Rademacher averages of rank-one features, and of isotropic ones with d = L = 16 and 64.",
        "An average times sqrt(n), or for isotropic features sqrt(nL), that vanishes.",
    ),
)
