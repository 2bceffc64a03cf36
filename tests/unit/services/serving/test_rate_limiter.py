"""A client may use a minute's allowance at once, then at an even rate."""

from surefind.services.serving.rate_limiter import BucketsInMemory, RateLimiter


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_allowance_may_be_used_at_once_and_comes_back_evenly() -> None:
    clock = Clock()
    rates = RateLimiter(6, clock)
    assert [rates.take("a") for _ in range(7)] == [0, 0, 0, 0, 0, 0, 10]
    clock.now += 4.5
    assert rates.take("a") == 6
    clock.now += 5.5
    assert [rates.take("a"), rates.take("a")] == [0, 10]
    clock.now += 3600
    assert [rates.take("a") for _ in range(7)] == [0, 0, 0, 0, 0, 0, 10]


def test_clients_do_not_take_from_each_other() -> None:
    rates = RateLimiter(1, Clock())
    assert [rates.take("a"), rates.take("b"), rates.take("a"), rates.take("b")] == [0, 0, 60, 60]


def test_a_refusal_costs_nothing() -> None:
    clock = Clock()
    rates = RateLimiter(60, clock)
    for _ in range(100):
        rates.take("a")
    clock.now += 1
    assert rates.take("a") == 0


def test_without_a_limit_no_client_waits() -> None:
    assert not any(RateLimiter(None, Clock()).take("a") for _ in range(1000))


def test_the_number_of_remembered_clients_is_limited() -> None:
    rates = RateLimiter(1, Clock(), BucketsInMemory(clients=2))
    assert [rates.take(who) for who in "abca"] == [0, 0, 0, 0]
    assert rates.take("c") == 60


def test_many_at_once_count_as_many() -> None:
    clock = Clock()
    rates = RateLimiter(6, clock)
    assert [rates.take("a"), rates.take("a", 4, taken=1), rates.take("a", 2, taken=0)] == [0, 0, 10]
    assert rates.take("a") == 0


def test_more_than_a_minutes_allowance_takes_all_of_it_and_is_paid_off() -> None:
    clock = Clock()
    rates = RateLimiter(6, clock)
    assert [rates.take("a"), rates.take("a", 11, taken=1)] == [0, 0]
    assert rates.take("a") == 70, "six that were lent, and one"
    clock.now += 70
    assert [rates.take("a"), rates.take("a", 11, taken=1)] == [0, 50]
