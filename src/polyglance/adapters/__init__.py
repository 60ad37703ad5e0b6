"""Models as other packages know them; each file is for one package, which it need not import."""
