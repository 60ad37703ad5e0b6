"""Safe decoding of images of any kind to RGB, with bounded memory."""
