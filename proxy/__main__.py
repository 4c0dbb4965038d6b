# The command `slotgate`, which `python -m proxy` is too.

from proxy.cli import cli


def main() -> None:
    """Runs the command line and exits: 0 done, 1 the proxy said no or cannot be reached, 2 wrong usage, 78 wrong
    configuration."""
    cli(prog_name="slotgate")


if __name__ == "__main__":
    main()
