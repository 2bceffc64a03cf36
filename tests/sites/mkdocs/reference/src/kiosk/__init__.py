"""A kiosk."""

from .tickets import Ticket

__all__ = ["Ticket"]
