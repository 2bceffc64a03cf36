"""The operations of surefind. Services depend on ports, never on adapters."""
