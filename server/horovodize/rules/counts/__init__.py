"""G5: what happens every so many steps, or goes by their number, happens as often for the rows that are seen."""
