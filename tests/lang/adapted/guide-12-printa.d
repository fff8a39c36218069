/* Solaris Dynamic Tracing Guide, chapter 12, printa(): several formats, several aggregations */
#pragma D option quiet

BEGIN
{
	@a["mozilla", 1] = count();
	@b["dtrace", 2] = sum(5);
	@b["mozilla", 1] = sum(100);
}

END
{
	printa("%s %d %@d\n", @b);
	printa("%-10s %3d %@8d %@8d\n", @b, @b);
}
