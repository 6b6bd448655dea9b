"""What Python means: a module's syntax, scopes and names, where values come from, which function a call runs."""
