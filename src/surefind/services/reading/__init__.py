"""Reads pages in parts that fit a token budget, and lists them as a tree."""
