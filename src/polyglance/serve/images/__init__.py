"""The images that are served, and what is known of them."""
