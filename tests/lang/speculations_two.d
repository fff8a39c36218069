#pragma D option nspec=2
BEGIN { printf("%d %d %d\n", speculation(), speculation(), speculation()); }
BEGIN { speculate(1); printf("one\n"); }
BEGIN { speculate(2); printf("two\n"); }
BEGIN { commit(2); }
BEGIN { discard(1); }
BEGIN { printf("%d\n", speculation()); }
