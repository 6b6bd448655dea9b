"""Trials: public training scripts, trained alone and distributed, and what each run came to side by side."""
