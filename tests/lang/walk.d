struct node { struct node *next; int v; };
int total;

BEGIN
{
	this->a = (struct node *)alloca(sizeof (struct node));
	this->b = (struct node *)alloca(sizeof (struct node));
	this->a->next = this->b;
	this->a->v = 10;
	this->b->v = 32;
	walk (this->a, it->next, 8)
		total += it->v;
	printf("%d\n", total);
	/* A circular list, up to the limit of steps. */
	this->b->next = this->a;
	total = 0;
	walk (this->a, it->next, 7) {
		total += it->v;
	}
	printf("%d\n", total);
	walk (3, it - 1, 10) {
		walk (it, it - 1, 10)
			printf("%d ", it);
		printf("| ");
	}
	walk (0, it, 10)
		printf("never");
	printf("\n");
}
