"""``python -m marginwise``: the command line."""

import sys

from marginwise.cli import main

if __name__ == "__main__":
    sys.exit(main())
