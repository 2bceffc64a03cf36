"""A small handbook, and questions about it."""

from dataclasses import dataclass

COLORS = ("red", "green", "blue")
PAGES = {
    "index.md": "# Kiln\n\nThe kiln fires clay. It has a door, a controller and a chimney.",
    "start.md": (
        "---\naudience: beginners\ntags: [first, quick]\n---\n# Starting\n\nClose the door.\n\n"
        "## Power\n\nPlug the cable into a socket of 400 volts.\n\n## First firing\n\n"
        "Heat the empty kiln to 600 degrees, so that the bricks dry."
    ),
    "care.md": (
        "# Care\n\nBrush the bricks every month.\n\n## Chimney\n\nSweep the chimney twice a year."
    ),
    "errors.md": (
        "# Errors\n\n## F12\n\nThe error F12 means that the door is open. Close the door.\n\n"
        "## F30\n\nThe error F30 means that the sensor is too hot.\n\n```\nkiln --status\n```"
    ),
    **{
        f"glazes/{color}.md": f"# The {color} glaze\n\nFire the {color} glaze at {1000 + 50 * at} "
        "degrees. Stir it before use."
        for at, color in enumerate(COLORS)
    },
}
QUESTIONS = (
    "What does the error F12 mean?",
    "How hot is the first firing?",
    "At how many degrees do I fire the blue glaze?",
    "kiln --status",
    "Who sings at the opera tonight?",
)


@dataclass(frozen=True)
class Served:
    """A server that needs a key."""

    address: str
    key: str
