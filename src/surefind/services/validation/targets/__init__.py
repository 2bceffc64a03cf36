"""Golden tests on targets: other retrievers, and other collections of surefind."""
