"""D1, D2 and D3: every rank trains on rows of its own, drawn and ordered so that no row is lost or seen twice."""
