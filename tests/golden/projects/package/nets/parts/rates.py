from ..settings import RATE


def base_rate():
    return RATE
