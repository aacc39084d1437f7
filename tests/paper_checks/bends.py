"""How derivatives, products, quantities and bounds are bent."""

from dataclasses import replace

BOUNDS = "leml_theory.bounds.complexity"
QUOTED = "paper_checks.printed.QUOTED"
SPARSE = "leml_solver._factored.entry_sums.SparseEntries"


def damped_slopes(original):
    """Return a fraction of the derivative."""
    return lambda self, y, f: 0.9 * original(self, y, f)


def bent_slopes(original):
    """Bend the solver's derivative of an entry."""
    return lambda self, A, H, offset: 1.01 * original(self, A, H, offset)


def doubled_products(original):
    """Multiply by X twice where once is enough."""
    return lambda self, B: (original(self, B), original(self, B))[0]


def negated(original):
    """Change the sign of what a method returns."""
    return lambda self, y, f: -original(self, y, f)


def shifted(amount):
    """Add a constant to what a function returns."""
    return lambda original: lambda *args, **kwargs: original(*args, **kwargs) + amount


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


def requoted(name, position, text):
    """Return a replacement of the table of quotations with another text at one place of it."""

    def replacement(quoted):
        written = list(quoted[name].written)
        assert written[position] != text
        written[position] = text
        return {**quoted, name: replace(quoted[name], written=tuple(written))}

    return replacement
