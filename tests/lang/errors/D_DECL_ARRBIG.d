int a[100000];
BEGIN { a[0] = 1; }
// at 1:7
