"""What the browser asks in more than one suite."""

QUESTION = "how often should I water tomatoes"
