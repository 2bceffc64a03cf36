import decimal


class Ticket:
    price = decimal.Decimal(3)

    @property
    def printed(self) -> str:
        return f"{self.price} EUR"

    # begin discount
    def discounted(self) -> decimal.Decimal:
        return self.price - 1

    # end discount


def sell(kind: str) -> Ticket:
    del kind
    return Ticket()
