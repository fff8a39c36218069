BEGIN { printf("%d"); } // at 1:9
