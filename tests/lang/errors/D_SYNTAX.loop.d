BEGIN { while (1) { } } // at 1:9
