BEGIN { x = (int)"5"; } // at 1:13
