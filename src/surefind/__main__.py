"""`python -m surefind` runs the command line."""

from surefind.interfaces.cli import main

if __name__ == "__main__":
    main()
