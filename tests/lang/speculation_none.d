BEGIN { a = speculation(); b = speculation(); printf("%d %d\n", a, b); }
BEGIN { speculate(b); printf("nowhere\n"); }
BEGIN { speculate(a); printf("kept back\n"); }
BEGIN { commit(a); }
BEGIN { discard(7); printf("%d\n", speculation()); }
