// args: -q -x aggsize=2g -s {}
#pragma D option aggsize=1t
#pragma D option dynvarsize=256m
#pragma D option specsize=16m
#pragma D option nspec=64

/* The command line's setting wins, and may exceed what a program may set. */
BEGIN
{
	@a[1] = count();
	printf("%d\n", speculation());
	exit(0);
}
