BEGIN { x = pid; } // at 1:13
