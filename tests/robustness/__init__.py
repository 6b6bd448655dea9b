"""What the server must survive: wrong messages, any text, faults of the machine, hostile workspaces, long days."""
