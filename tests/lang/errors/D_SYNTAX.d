BEGIN { x = ; } // at 1:13
