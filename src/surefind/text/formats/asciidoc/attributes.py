"""Document attributes: `:name: value`, and references to them such as `{name}`."""

import re

ENTRY = re.compile(r":(!?[\w][\w-]*!?):(?:[ \t]+(.*))?$")
_REFERENCE = re.compile(r"\\?\{([\w][\w-]*)\}")
_MAX_VALUE = 4_000
_MAX_EXPANDED = 100_000

_INTRINSIC = {
    "amp": "&",
    "apos": "'",
    "asciidoctor": "",
    "asterisk": "*",
    "backend": "html5",
    "backend-html5": "",
    "backslash": "\\",
    "backtick": "`",
    "basebackend": "html",
    "basebackend-html": "",
    "blank": "",
    "caret": "^",
    "cpp": "C++",
    "cxx": "C++",
    "deg": "°",
    "doctype": "article",
    "doctype-article": "",
    "empty": "",
    "endsb": "]",
    "filetype": "html",
    "gt": ">",
    "ldquo": "“",
    "lsquo": "\u2018",
    "lt": "<",
    "nbsp": "\u00a0",
    "plus": "+",
    "pp": "++",
    "quot": '"',
    "rdquo": "”",
    "rsquo": "\u2019",
    "safe-mode-level": "1",
    "safe-mode-name": "safe",
    "sectids": "",
    "sp": " ",
    "startsb": "[",
    "tilde": "~",
    "two-colons": "::",
    "two-semicolons": ";;",
    "vbar": "|",
    "wj": "",
    "zwsp": "",
}


class Attributes:
    """The attributes that are set at one place of a document."""

    def __init__(self) -> None:
        self._values = dict(_INTRINSIC)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def get(self, name: str, default: str = "") -> str:
        return self._values.get(name.lower(), default)

    def set(self, name: str, value: str) -> None:
        """Set an attribute, or unset `!name` and `name!`."""
        plain = name.strip("!").lower()
        if "!" in name:
            self._values.pop(plain, None)
        else:
            self._values[plain] = self.expand(value)[:_MAX_VALUE]

    def expand(self, text: str) -> str:
        """Replace references; unknown ones stay, as Asciidoctor leaves them."""
        if "{" not in text:
            return text
        size = len(text)

        def value_of(found: re.Match[str]) -> str:
            nonlocal size
            if found[0].startswith("\\"):
                return found[0][1:]
            value = self._values.get(found[1].lower())
            if value is None or size > _MAX_EXPANDED + len(text):
                return found[0]
            size += len(value)
            return value

        return _REFERENCE.sub(value_of, text)

    def set_here(self) -> dict[str, str]:
        """The attributes that the document sets itself."""
        return {k: v for k, v in self._values.items() if _INTRINSIC.get(k) != v}
