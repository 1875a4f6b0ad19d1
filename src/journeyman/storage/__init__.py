"""What every durable or parallel thing stands on: whole files, append-only lines, processes."""
