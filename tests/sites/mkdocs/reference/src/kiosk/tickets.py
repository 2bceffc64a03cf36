"""Tickets, and what is done with them.

Every ticket has a price.
"""

LIMIT = 20
"""The most tickets that one visitor can buy."""

_HIDDEN = 1
"""Nobody reads this."""


class Ticket:
    """A paper that opens a gate.

    It is valid for a day.

    Attributes:
        price: What it costs, in cents.

    ## Prices

    They change every year.

    ```python
    ticket = Ticket(300)
    ```
    """

    def __init__(self, price: int) -> None:
        """Print a ticket of that price."""
        self.price = price

    def void(self, reason: str = "lost", *, refund: bool = True) -> "Ticket":
        """Make a ticket invalid.

        Args:
            reason: Why nobody may use it
                any longer.
            refund (bool): Whether the visitor gets the money.

        Returns:
            The invalid ticket.

        Raises:
            ValueError: If it was void before.
        """
        return self

    @property
    def label(self) -> str:
        """The words on the paper."""
        return str(self.price)

    def _print(self) -> None:
        """Nobody reads this, either."""

    def silent(self) -> None:
        pass


def sell(count: int, *, gift: bool = False) -> list[Ticket]:
    """Sell tickets.

    !!! note
        A gift has no price on it.
    """
    return []
