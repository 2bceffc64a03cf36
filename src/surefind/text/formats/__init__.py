"""Source formats: parse the bytes of a page into its text and structure.

To add a format, write a module here with a function from bytes to `ParsedPage`, and add its
suffixes to `registry.READERS`.
"""
