"""Commands that look after an installation."""
