"""Train one model, or a sweep of them: `python train.py --help` shows what can be chosen."""

from posenc.console import quiet_interrupts

with quiet_interrupts():  # the rest takes a moment
    from posenc.cli import main

if __name__ == "__main__":
    main()
