"""``python -m site_builder`` does what ``python build.py`` does."""

from site_builder.cli import main

if __name__ == "__main__":
    main(prog_name="python -m site_builder")
