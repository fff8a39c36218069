BEGIN { strlne("a"); } // at 1:9
