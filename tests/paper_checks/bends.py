"""How statements, quantities and bounds of the theory are bent."""

from dataclasses import replace

BOUNDS = "leml_theory.bounds.complexity"


def scaled_bound(factor):
    """Return a replacement that multiplies the value of a bound."""

    def replacement(bound):
        def bent(*args, **kwargs):
            found = bound(*args, **kwargs)
            return replace(found, value=found.value * factor)

        return bent

    return replacement


def shifted_risk(risk):
    """Add a tenth to every population risk."""

    def bent(*args, **kwargs):
        found = risk(*args, **kwargs)
        return replace(found, value=found.value + 0.1)

    return bent


def divided_points(factor):
    """Return a replacement that asks for fewer points."""
    return lambda points: lambda *args: max(1, points(*args) // factor)


def summed_over_labels(slots):
    """Report the deviation of the sum over the s labels in place of the average."""

    def bent(parameters, rng):
        factor = parameters["s"]
        return [{**row, "value": row["value"] * factor} for row in slots(parameters, rng)]

    return bent


def other_labels(slots):
    """Take equal labels for independent ones and the reverse."""

    def bent(parameters, rng):
        labels = "signs" if parameters["labels"] == "all-ones" else "all-ones"
        return slots({**parameters, "labels": labels}, rng)

    return bent


def other_balls(erm):
    """Exchange the two balls."""
    names = {"trace": "frobenius", "frobenius": "trace", "pooled": "pooled"}

    def bent(parameters, rng):
        return [{**row, "ball": names[row["ball"]]} for row in erm(parameters, rng)]

    return bent


def slow_decay(planted):
    """Let the excess of a fixed signal decay like 1/sqrt(n)."""

    def bent(parameters, rng):
        factor = parameters["n"] ** 0.5
        return [{**row, "value": row["value"] * factor} for row in planted(parameters, rng)]

    return bent


def theory(module, name):
    """Return the path of a name as a module of checks looks it up."""
    return f"paper_checks.{module}.{name}"


def unit_radius(averages):
    """Measure at radius one in place of sqrt(L)."""

    def bent(d, n_labels, n, draws, rng):
        found = averages(d, n_labels, n, draws, rng)
        return {ball: mean.scaled(n_labels**-0.5) for ball, mean in found.items()}

    return bent
