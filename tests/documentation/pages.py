"""A page with what its examples print now."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from documentation.examples import PROJECT, Example, PythonExample, examples
from documentation.outputs import refreshed
from documentation.scenes import OF_INTEGRATIONS, PYTHON_NOT_RUN, SCENES, Scene
from documentation.session import Session, opened


class StaleExampleError(Exception):
    """What a page shows is not printed, and can't be replaced without a person."""


def is_runnable(example: Example) -> bool:
    """Every command, and programs that search; others are parts of a program."""
    if not isinstance(example, PythonExample):
        return True
    return PYTHON_NOT_RUN not in example.body and (
        "surefind.open(" in example.body or example.printed is not None
    )


def refreshed_page(name: str) -> str:
    """The text of the page at this path in the project, with the outputs of its examples."""
    scene = (SCENES | OF_INTEGRATIONS)[name]
    text = (PROJECT / name).read_text()
    parts, end = [], 0
    with TemporaryDirectory() as folder, opened(scene, Path(folder)) as session:
        prepared: set[str] = set()
        for example in examples(text, scene.implied):
            if not is_runnable(example):
                continue
            if example.heading in scene.before and example.heading not in prepared:
                session.prepare(scene.before[example.heading])
                prepared.add(example.heading)
            parts += [text[end : example.start], _replacement(example, session, scene)]
            end = example.end
    return "".join((*parts, text[end:]))


def _replacement(example: Example, session: Session, scene: Scene) -> str:
    try:
        if isinstance(example, PythonExample):
            printed = session.run_python(example.body)
            if example.printed is None:
                return example.body
            return refreshed(example.printed, printed, scene.varying)
        lines = []
        for command in example.commands:
            printed = "".join(map(session.run, command.text.splitlines()))
            printed = re.sub(scene.unshown, "", printed, flags=re.MULTILINE)
            shown = command.shown and refreshed(command.shown, printed, scene.varying)
            lines += [] if command.is_implied else [f"$ {command.text}\n"]
            lines.append(shown)
        return "".join(lines)
    except ValueError as error:
        raise StaleExampleError(f"below {example.heading!r}, edit what is shown: {error}") from None
