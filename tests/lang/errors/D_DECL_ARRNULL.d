int a[];
BEGIN { a[0] = 1; }
// at 1:7
