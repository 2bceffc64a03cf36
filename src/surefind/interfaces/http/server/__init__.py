"""Listens on a port and runs the application there, in one process or in several."""
