"""C6, C7 and D4: what is printed, shown, written and downloaded comes from rank 0."""
