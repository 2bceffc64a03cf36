"""The tickets of the kiosk."""


def sell(kind: str, count: int = 1) -> "Ticket":
    """Sell some tickets.

    The *kind* is that of the price list::

        sell("adult")

    :param kind: The kind of the ticket.
    :param count: How many are sold.
    :returns: The last ticket.
    """
    del kind, count
    return Ticket()


class Ticket:
    """A ticket that was sold.

    .. versionadded:: 1.1
    """

    #: The price in euros.
    price = 3

    width: int = 80
    """The width in millimetres."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    @property
    def label(self) -> str:
        """What is printed on it."""
        return f"{self.price} EUR"

    async def print(self) -> None:
        """Print it."""

    @classmethod
    def blank(cls) -> "Ticket":
        """A ticket without a number."""
        return cls()

    def undocumented(self) -> None:
        return None

    def _private(self) -> None:
        """Nobody sees this."""
