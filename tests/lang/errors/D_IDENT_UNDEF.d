BEGIN { x = timestmap; } // at 1:13
