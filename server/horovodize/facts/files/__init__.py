"""Which files a program writes, and finds again in a later run."""
