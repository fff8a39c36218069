#pragma D option dynvarsize=256
BEGIN { a[1] = 1; a[2] = 1; a[3] = 1; a[4] = 1; a[5] = 1; a[6] = 1; printf("%d %d\n", a[1], a[6]); }
