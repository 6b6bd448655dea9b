"""K3, M1, M3 and M4: the callbacks of `fit`, and the hooks of monitored sessions."""
