def scale(x):
    return x / 255
