"""The published shapes, and their mapping to and from the model. Only this package knows them."""
