"""Run folders and what is read out of them; nothing here imports torch."""
