"""Commands that check, repair and configure an installation."""
