"""The library, synchronous and asynchronous."""
