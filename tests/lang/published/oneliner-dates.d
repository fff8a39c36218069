// args: -n 'tick-1{ printf("%Y", walltimestamp); }' --on tests/corpus/xen/small.trace --freq 10000000
/* A. Leventhal, DTrace for Linux; here on a capture, whose time of day is not known */
