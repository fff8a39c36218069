int *p;
BEGIN { trace(p == 5); }
// at 2:17
