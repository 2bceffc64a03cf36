"""surefind as a part of other frameworks. Each module needs the extra of its own name."""
