BEGIN { x = 5 / (1 - 1); } // at 1:20
