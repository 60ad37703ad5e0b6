"""Libraries: images found by sentences or images, kept current and on disk.

Nothing here imports torch: images and texts are encoded by an exported model (`runtime`).
"""
