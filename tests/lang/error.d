BEGIN { x = 1; y = 5 / (x - 1); printf("never\n"); }
BEGIN { printf("the next clause\n"); }
BEGIN /1 % (x - 1)/ { printf("never\n"); }
ERROR { printf("%d %d %d\n", arg1, arg2, arg4); }
