BEGIN
{
	stack();
	ustack(3);
	stack(5);
	sym(4096);
	usym(0xffffffff81000000);
	printf(" %s %d %d %d\n", func(16), stackdepth, pid, tid);
	@[ufunc(255)] = count();
}
