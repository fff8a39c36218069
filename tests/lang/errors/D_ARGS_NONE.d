BEGIN { x = args[0]; } // at 1:13
