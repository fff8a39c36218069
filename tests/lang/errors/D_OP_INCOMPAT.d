BEGIN { x = 1; x = "a"; } // at 1:18
