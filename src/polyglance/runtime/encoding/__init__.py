"""The two towers of an exported model, run by onnxruntime."""
