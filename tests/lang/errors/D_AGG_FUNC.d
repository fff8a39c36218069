BEGIN { @a = 5; } // at 1:14
