"""The plain grader: runs answers in a confined process and compares them with the expected ones.

It needs numpy and the project's packages only, and knows nothing of the rest of this folder: the
builder copies it into every autograder.
"""
