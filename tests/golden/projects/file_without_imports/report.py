"""What is told of a run."""


def tell(text):
    print("told:", text)


def keep(path, losses):
    with open(path, "w") as f:
        for loss in losses:
            f.write("%f\n" % loss)
