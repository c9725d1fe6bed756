"""How fast a scheme approaches its equation as the step shrinks: strong and weak orders, measured."""

from noisyrnn.theory.convergence.orders import Order, end_state, strong_order, weak_order

__all__ = [
    "Order",
    "end_state",
    "strong_order",
    "weak_order",
]
