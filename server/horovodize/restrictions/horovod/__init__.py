"""What goes wrong in scripts that use Horovod already: the findings HVD3xx, one file each.

They are reported where the facts show them, and not where a file leaves something open: what is missing here may be done by a
module that is not seen."""
