"""The published shapes. Each maps to and from the model; nothing else knows their names."""
