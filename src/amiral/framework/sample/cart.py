"""The cart of a small shop: lines of (name, unit price in cents, quantity)."""


def total(lines: list[tuple[str, int, int]]) -> int:
    """Sum a cart, in cents."""
    return sum(price * quantity for _, price, quantity in lines)


def with_discount(amount: int, percent: int) -> int:
    """Take a discount off an amount in cents, rounding down."""
    return amount - amount * percent // 100
