"""The library against a surefind server: the same methods, over HTTP."""
