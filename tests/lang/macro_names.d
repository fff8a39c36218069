// args: -q -s {} calls '"a text"' total strlen 12 __x9
/*
 * The guide's chapter 15: an argument is a number, a name, or in quotes a text, wherever one may
 * stand: trace(x->$1), x += $1, execname == $1.
 */
struct info { int calls; int other; };
struct info x;
int __x9[string];

BEGIN
{
	x.calls = 3;
	printf("%d %s %d\n", x.$1, $2, $4($2));
	$3 += $5;
	__x9["a"] = total;
	printf("%d %d %s %s\n", total, $6["a"], $$1, $$5);
}
