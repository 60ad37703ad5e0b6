"""The input of a training: captions as ids, features, and augmentation."""
