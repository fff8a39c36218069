BEGIN { x = bcopy("a", "b", 1); }
