"""Writes validation reports as text: terminal, JSON, Markdown, HTML, JUnit and TREC runs."""
