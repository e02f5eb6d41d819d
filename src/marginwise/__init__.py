"""marginwise: support vector machines that tune themselves."""
