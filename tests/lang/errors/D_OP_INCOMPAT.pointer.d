int *p;
BEGIN { p = 5; }
// at 2:11
