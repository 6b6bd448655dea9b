"""What a script does that uses Horovod already."""
