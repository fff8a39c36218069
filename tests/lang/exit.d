BEGIN { printf("a\n"); exit(7); printf("b\n"); }
BEGIN { printf("never\n"); }
END { printf("end\n"); }
