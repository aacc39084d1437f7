"""How the printed tables are bent: digits, marks and lost cells."""

from mutation import Mutation

LOAD = "paper_checks.printed.load"
CELL = {"dataset": "bibtex", "method": "LEML", "loss": "squared"}


def bent(change, **where):
    """Return a replacement of the loader that changes the cells picked out by `where`.

    `change` maps a column to a new value, or to a function of the old ones; one printed cell or
    many may be meant, but never none.
    """

    def replacement(original):
        def load(*tables):
            frame = original(*tables)
            chosen = frame["table"].notna()
            for column, value in where.items():
                chosen &= frame[column] == value
            for column, new in change.items():
                old = frame.loc[chosen, column]
                frame.loc[chosen, column] = new(old) if callable(new) else new
            return frame

        assert len(load()) == len(original())
        assert not load().equals(original()), where
        return load

    return replacement


def digit(name, new, /, **where):
    """Return the mutation that prints another number in a cell."""
    return Mutation(name, LOAD, bent({"value": new}, **where))


def dropped(name, **where):
    """Return the mutation that loses cells of the transcription."""

    def replacement(original):
        def load(*tables):
            frame = original(*tables)
            lost = frame["table"].notna()
            for column, value in where.items():
                lost &= frame[column] == value
            return frame[~lost].reset_index(drop=True)

        assert len(load()) < len(original())
        return load

    return Mutation(name, LOAD, replacement)


def flipped(metric):
    """Return the mutation that turns round which direction of a metric is better."""
    change = frozenset({metric})
    return Mutation(
        f"{metric} read in the other direction",
        "paper_checks.printed.LOWER_IS_BETTER",
        lambda lower: lower ^ change,
    )
