"""Sells tickets."""

from .tickets import Ticket, sell

__all__ = ["Ticket", "sell"]
