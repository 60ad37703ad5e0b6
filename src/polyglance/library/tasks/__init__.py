"""Operations on a whole library: copying, exporting, embedding again, finding duplicates."""
