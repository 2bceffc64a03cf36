"""Generations: built, verified, published, read, moved and rolled back."""
