"""Maps the payloads of connected collections to surefind's fields. Pure."""
