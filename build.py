"""``python build.py`` builds the site; ``python build.py --help`` tells what else there is."""

from site_builder.cli import main

if __name__ == "__main__":
    main()
