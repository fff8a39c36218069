BEGIN { x = strlen("a", "b"); } // at 1:13
