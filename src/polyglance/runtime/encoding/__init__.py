"""The two sides of an exported model, under onnxruntime."""
