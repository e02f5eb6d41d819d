"""What the process around the mathematics needs: compilation, memory, Ctrl-C, other processes."""
