"""Train one model, or a sweep of them: `python train.py --help` shows what can be chosen."""

from posenc.cli import main

if __name__ == "__main__":
    main()
