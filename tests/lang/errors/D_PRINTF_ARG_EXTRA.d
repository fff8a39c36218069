BEGIN { printf("a", 1); } // at 1:21
