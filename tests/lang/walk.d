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
	/* All steps, though each takes memory for its keys and texts. */
	walk (65536, it - 1, 65536) {
		seen[it & 7] += 1;
		@[strjoin("x", lltostr(it & 7))] = count();
	}
	printf("%d\n", seen[0] + seen[1] + seen[2] + seen[3] + seen[4] + seen[5] + seen[6] + seen[7]);
	/* What the program still refers to outlives the step. */
	walk (4, it - 1, 10) {
		if (it == 4) {
			this->word = strtok(strjoin("one,two", ",three,four"), ",");
			this->n = (int *)alloca(sizeof (int));
			*this->n = 40;
		}
		*this->n += 1;
		printf("%s %s|", this->word, strjoin("step ", lltostr(it)));
	}
	printf("%d %s %s\n", *this->n, strtok(NULL, ","), strtok(NULL, ","));
	trunc(@);
}

BEGIN
{
	/* `it` has the type of the first value, which every value is cut to. */
	walk ((uint8_t)250, it + 1, 20)
		printf("%d ", it);
	walk ((char)126, it + 1, 4)
		printf("%d ", it);
	printf("\n");
}
