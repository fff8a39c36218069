BEGIN { timestamp = 1; } // at 1:9
