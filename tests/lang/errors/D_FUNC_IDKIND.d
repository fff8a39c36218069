BEGIN { x = count(); } // at 1:13
