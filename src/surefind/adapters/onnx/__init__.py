"""Models as ONNX files on this machine: embedders and rerankers from a folder or the hub."""
