"""Conversion between torch and ONNX: exporting a model, and restoring one."""
