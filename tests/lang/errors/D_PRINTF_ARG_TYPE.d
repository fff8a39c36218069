BEGIN { printf("%s", 1); } // at 1:22
