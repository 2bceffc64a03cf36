"""Pure text work: the bytes of a page become a Document, and a Document becomes Chunks.

`formats/` parses pages, by their suffix, with the help of `markdown/` and `html/`. `sites/` knows
the documentation tools. `documents.py` puts both together, and `chunking.py` cuts the result.
"""
