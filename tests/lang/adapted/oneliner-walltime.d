// args: -qn 'BEGIN { printf("%Y\n", (uint64_t)1258765432 * 1000000000); exit(0); }'
/* DTrace one-liners: printf("%Y", walltimestamp), with a time that is known */
