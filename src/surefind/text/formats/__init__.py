"""Source formats: from the bytes of a page to its text and structure.

To add a format, write a module here with a function from bytes to `ParsedPage`, and list its
suffixes in `registry.READERS`.
"""
