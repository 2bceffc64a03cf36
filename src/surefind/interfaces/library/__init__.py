"""The Python library, synchronous and asynchronous."""
