"""`python -m paper_checks`."""

import sys

from paper_checks.command import main

if __name__ == "__main__":
    sys.exit(main())
