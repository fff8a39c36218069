BEGIN { x = printf("a"); } // at 1:13
