BEGIN { x = 09; } // at 1:13
