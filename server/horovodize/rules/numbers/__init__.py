"""What a program's numbers are: which count a rank's steps, what they are made of, and how they go on."""
