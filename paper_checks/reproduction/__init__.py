"""The tables of Section 5 again, from data: what is trained, how it is chosen, what comes out.

`python -m paper_checks reproduce` is the command.

Paper: Section 5.
"""
