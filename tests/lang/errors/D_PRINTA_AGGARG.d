BEGIN { printa("a", 5); }
