"""`python -m polyglance`."""

from polyglance.cli import main

if __name__ == "__main__":
    main()
