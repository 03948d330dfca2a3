"""``python -m bayesnb`` is the command ``bayesnb``."""

from bayesnb.cli import main

if __name__ == "__main__":
    main()
