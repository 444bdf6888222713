"""What several tasks share: draws, notations, grammars, and ways to find their chance."""
