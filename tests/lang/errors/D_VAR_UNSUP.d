BEGIN { x = ppid; } // at 1:13
