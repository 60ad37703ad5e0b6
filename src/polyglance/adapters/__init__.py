"""Models behind other packages' interfaces, one file per package; none needs to be installed."""
