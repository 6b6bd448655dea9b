"""C1, C2, C3, C9 and S3: Horovod is imported and initialised, and each process gets a GPU of its own."""
