"""Lists of hosts, as horovodrun takes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    """A host, and how many ranks it takes."""

    name: str
    slots: int


def parse(text: str) -> list[Host]:
    """The hosts of `-H host1:4,host2:4`. Raises ValueError with a sentence."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, slots = part.rpartition(":")
        if not colon:
            name, slots = part, "1"
        if not name or name.startswith("-") or not slots.isdecimal() or int(slots) < 1:
            raise ValueError(f"{part!r} is not a host and its processes such as host1:4")
        found.append(Host(name, int(slots)))
    doubled = {host.name for host in found if [h.name for h in found].count(host.name) > 1}
    if doubled:
        raise ValueError(f"{sorted(doubled)[0]} is named twice; give it all its processes at once")
    return found
