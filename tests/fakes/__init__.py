"""Small true implementations of the ports: exact, in memory, and able to fail on demand."""

from fakes.analyzers import WordAnalyzer, word_terms
from fakes.catalogs import MemoryCatalog, MemoryCatalogStore
from fakes.embedders import WORDS, MemoryCache, WordEmbedder
from fakes.faults import FaultyIndexStore
from fakes.forgetful import ForgetfulIndexStore
from fakes.indexes import MemoryIndex, MemoryIndexStore, MemoryIndexWriter
from fakes.sources import PageSource
from fakes.values import ATTRIBUTES, NOW, document, record

__all__ = [
    "ATTRIBUTES",
    "NOW",
    "WORDS",
    "FaultyIndexStore",
    "ForgetfulIndexStore",
    "MemoryCache",
    "MemoryCatalog",
    "MemoryCatalogStore",
    "MemoryIndex",
    "MemoryIndexStore",
    "MemoryIndexWriter",
    "PageSource",
    "WordAnalyzer",
    "WordEmbedder",
    "document",
    "record",
    "word_terms",
]
