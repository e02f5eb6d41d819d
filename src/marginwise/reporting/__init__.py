"""What was found, for people to read: a fitted model in words, and as a page with pictures."""
