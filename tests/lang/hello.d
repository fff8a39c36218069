// args: -s {}
/* The guide's first program, and what it says of it. */
BEGIN
{
	trace("hello, world");
	exit(0);
}
