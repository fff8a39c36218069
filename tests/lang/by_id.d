// args: -q -s {}
/* A probe by its number: 1 to 3 belong to the dtrace provider, as in DTrace. */
1, 2
{
	printf("%d %s\n", id, probename);
}

1
{
	trace(*(int *)0);
}

3
{
	printf("%d %s\n", id, probename);
}
