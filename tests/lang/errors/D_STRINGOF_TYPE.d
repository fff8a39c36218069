BEGIN { x = stringof(5); }
