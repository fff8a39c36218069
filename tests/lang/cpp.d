// args: -q -C -D N=5 -I tests/lang -s {}
#include "cpp.h"
BEGIN { printf("%d %d %s\n", N, TWICE(N), NAME); }
#ifdef __ringside__
BEGIN { printf("ringside\n"); }
#endif
