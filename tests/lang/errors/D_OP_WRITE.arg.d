BEGIN { arg0 = 1; }
