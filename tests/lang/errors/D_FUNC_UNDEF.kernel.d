BEGIN { x = copyinstr(5); }
// at 1:13
