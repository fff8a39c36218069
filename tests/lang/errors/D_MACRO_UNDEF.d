BEGIN { x = $1; } // at 1:13
