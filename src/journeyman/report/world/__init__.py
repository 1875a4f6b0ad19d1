"""What is true in a world: its numbers, and how the terminal shows them."""
