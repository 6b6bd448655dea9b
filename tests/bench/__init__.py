"""How long things take, as ratios measured in one run: `make bench`."""
