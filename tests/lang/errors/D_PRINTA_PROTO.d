BEGIN { printa("a"); }
