string s;
self int count;
int ages[string, int];
BEGIN
{
	s = "first";
	this->old = s;
	s = "second";
	printf("%s %s\n", this->old, s);
	a["x", 1] = 5;
	a["x", 1]++;
	a["y", 1] += 2;
	printf("%d %d %d\n", a["x", 1], a["y", 1], a["z", 9]);
	ages["bob", 1] = 42;
	self->count = 3;
	self->name = "me";
	printf("%d %d %s\n", ages["bob", 1], self->count, self->name);
	self->name = 0;
	printf("[%s] %d\n", self->name, self->name == NULL);
	this->once = 7;
}
BEGIN
{
	printf("%d\n", this->once); /* of the same firing: still valid */
}
END
{
	printf("%d %s\n", this->once, s);
}
