"""Whether a distributed script trains what it trained alone, found out by training both.

`training` runs a script under the probe (`probe/`, which knows nothing of how an edit was made), `runs` reads what the probe
wrote, `contract`, `parity` and `speed` judge it, and `verdict` puts it together. `text`, `page` and
`Verdict.as_json` say it."""
