BEGIN { x = *(5); }
