"""Evaluation of retrieval: golden sets, measures, statistics and reports. Pure, without I/O."""
