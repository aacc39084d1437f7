"""The paper, statement by statement: each one recorded with a verdict and checked by running code.

`python -m paper_checks` runs the checks; `paper_checks.cplst.cplst_report` applies Claims 1 and 2
to data of your own.
"""
