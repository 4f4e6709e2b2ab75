"""Tests of the cart."""

import unittest

from cart import total, with_discount


class CartTest(unittest.TestCase):
    def test_a_cart_is_the_sum_of_its_lines(self):
        self.assertEqual(total([("tea", 450, 2), ("cup", 900, 1)]), 1800)

    def test_a_discount_is_rounded_down(self):
        self.assertEqual(with_discount(999, 10), 900)


if __name__ == "__main__":
    unittest.main()
