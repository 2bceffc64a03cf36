"""Commands that put documents in, and look after what they became."""
