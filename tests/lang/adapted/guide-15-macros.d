// args: -q -s {} 5 name
/* Solaris Dynamic Tracing Guide, chapter 15, Macro Arguments */
BEGIN
/$1 == 5 && $$2 == "name"/
{
	printf("%d %s\n", $1, $$2);
	exit($1 - 5);
}
