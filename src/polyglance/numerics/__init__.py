"""Arrays and tensors: devices, precision, and shared numerical code."""
