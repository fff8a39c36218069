BEGIN { x = 1.5; } // at 1:13
