"""Small true implementations of the ports: exact, in memory, and able to fail on demand."""

from support.fakes.analyzers import WordAnalyzer, word_terms
from support.fakes.catalogs import MemoryCatalog, MemoryCatalogStore
from support.fakes.embedders import WORDS, MemoryCache, WatchedEmbedder, WordEmbedder
from support.fakes.faults import FaultyIndexStore
from support.fakes.forgetful import ForgetfulIndexStore
from support.fakes.indexes import MemoryIndex, MemoryIndexStore, MemoryIndexWriter
from support.fakes.sources import PageSource
from support.fakes.values import ATTRIBUTES, NOW, document, record

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
    "WatchedEmbedder",
    "WordAnalyzer",
    "WordEmbedder",
    "document",
    "record",
    "word_terms",
]
