BEGIN { @a = count(); @a; } // at 1:23
