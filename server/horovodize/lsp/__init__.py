"""The language server: one request a file in `requests`; nothing in here knows TensorFlow."""
