"""`python -m horovodize` is the command line."""

import sys

from horovodize.cli import main

sys.exit(main())
