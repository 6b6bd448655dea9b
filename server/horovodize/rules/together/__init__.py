"""How ranks come to one answer: tests that all decide together, means of what each measured, draws that rank 0 tells."""
