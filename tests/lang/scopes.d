/* self-> with keys, names without a type, weights. */
enum { LOW = 2, HIGH };
self int seen[string, int];

BEGIN
{
	self->seen["a", HIGH] = 5;
	self->seen["a", LOW]++;
	self->other[7] = "text";
	printf("%d %d %d %s\n", self->seen["a", 3], self->seen["a", 2], self->seen["b", 2], self->other[7]);
	@w = llquantize(15, 10, 0, 1, 10, 3);
	@w = llquantize(20, 10, 0, 1, 10, 1);
}
