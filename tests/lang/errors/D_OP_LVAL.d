BEGIN { 5 = 1; } // at 1:9
