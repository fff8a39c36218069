BEGIN { x = ~"a"; } // at 1:13
