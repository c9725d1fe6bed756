"""``python -m noisyrnn``: the command line."""

from noisyrnn.cli import main

if __name__ == "__main__":
    main()
