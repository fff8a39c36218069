struct point { int x; int y; };

BEGIN
{
	this->p = (struct point *)alloca(sizeof (struct point) * 2);
	this->p->x = 3;
	(this->p + 1)->x = 4;
	this->p[1].y = 55;
	printf("%d %d %d %d\n", this->p->x, this->p[1].x, (*(this->p + 1)).y, this->p->y);
	printf("%d %d\n", &this->p[1] - this->p, (&this->p[1])->y);
	this->q = this->p;
	this->q++;
	printf("%d %d %d\n", this->q->y, this->q != NULL && this->q > this->p, this->q == this->p);
	*this->q = *this->p;
	printf("%d\n", this->q->x);
	this->i = (int *)this->p;
	*(this->i + 1) = -1;
	printf("%d %d\n", this->p->y, *++this->i);
	bcopy("abc", this->p, 4);
	printf("%s %x\n", stringof((char *)this->p), this->p->x);
}

BEGIN
{
	this->none = (int *)0x10;
	printf("%d\n", *this->none);
}

/* Memory of alloca() lasts for its firing. */
BEGIN
{
	kept = (int *)alloca(4);
}

END
/!*kept/
{
	printf("never\n");
}

ERROR
{
	printf("fault %d\n", arg4);
}
