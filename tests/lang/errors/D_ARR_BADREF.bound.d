int a[4];
BEGIN { a[4] = 1; }
// at 2:11
