"""Starts the command line, for `surefind` and `python -m surefind`."""

import signal


def main() -> None:
    """Run the command line.

    While Python imports it, Ctrl-C ends the process as it ends any program, instead of with the
    traceback of an import.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # a shell may have started it with SIGINT ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from surefind.interfaces.cli import main as run  # noqa: PLC0415 - Ctrl-C may come from here on

    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()
