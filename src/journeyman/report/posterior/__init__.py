"""What a posterior says about a world whose truth is known."""
