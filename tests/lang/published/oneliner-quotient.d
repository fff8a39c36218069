// args: -n 'BEGIN{v = 0x8000000000000000LL; print((long)v/-1)}'
/* A report of what crashed illumos' and OS X' kernels: the least integer by -1 */
