"""What goes wrong within one run of a TensorFlow 1 graph, on any number of ranks: the findings HVD34x, one file each.

They are reported where a run, its operations and the edges between them are all seen. Distributing neither refuses nor asks
because of them: it changes nothing about them."""
