struct node { struct node *next; int v; char name[8]; unsigned f : 3; short s[2]; string t; };
struct node n;

BEGIN
{
	n.v = 10;
	n.f = 5;
	n.s[1] = -1;
	n.t = "text";
	this->p = (struct node *)alloca(24);
	bcopy("one", this->p, 4);
	print(n);
	printf("\n");
	print(n.v);
	printf("\n");
	print("x");
	tracemem(this->p, 20);
	tracemem(this->p, 24, 3);
	trace(n.s);
}
