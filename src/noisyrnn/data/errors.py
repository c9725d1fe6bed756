"""One exception for everything that can be wrong with data: what, where, and what to do, in one sentence."""


class DataError(ValueError):
    """Data are missing, damaged or not what they should be; the message is one sentence with the remedy."""
