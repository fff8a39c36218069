BEGIN { x[1] = 1; y = x; }
