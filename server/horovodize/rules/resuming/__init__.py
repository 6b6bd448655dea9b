"""G6: a later run goes on at the same row."""
