"""Pure text work: bytes become a Document, a Document becomes Chunks."""
