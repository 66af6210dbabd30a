"""Run the command line as ``python -m sparsetoken``."""

from sparsetoken.cli import main

if __name__ == "__main__":
    main()
