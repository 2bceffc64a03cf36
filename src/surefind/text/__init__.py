"""Pure text processing: parses the bytes of a page into a Document, and a Document into Chunks.

`formats/` parses pages by suffix, using `markdown/` and `html/`. `sites/` knows the documentation
tools. `documents.py` combines both, and `chunking.py` splits the result.
"""
