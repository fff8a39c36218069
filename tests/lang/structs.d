/* Layouts equal gcc's on x86-64. struct callinfo comes from the guide's chapter 7. */
struct callinfo {
	uint64_t ts;
	uint64_t elapsed;
	uint64_t calls;
	size_t maxbytes;
};
struct callinfo i[string];
typedef union { uint32_t w; uint8_t b[4]; } u_t;
struct bits {
	unsigned a : 3;
	int b : 5;
	unsigned c : 12;
	char d;
	struct { short x, y; } in[2];
	uint64_t e : 40, f : 30;
	unsigned : 0;
	char g;
};
this struct bits s;
self struct callinfo me;
int a[4], m[2][3];
u_t u;

BEGIN
{
	i["read"].ts = 5;
	i["read"].calls++;
	i["read"].calls += 10;
	i["write"] = i["read"];
	i["write"].calls = 2;
	printf("%d %d %d %d %d\n", i["read"].ts, i["read"].calls, i["write"].ts, i["write"].calls,
	    i["none"].calls);
	i["read"] = 0;
	printf("%d\n", i["read"].calls);
}

BEGIN
{
	this->s.a = 9;
	this->s.b = -3;
	this->s.c = 0xabcd;
	this->s.d = 'x';
	this->s.in[1].y = -7;
	this->s.e = 1ULL << 39;
	this->s.f = 1 << 29;
	this->s.g = 'z';
	printf("%d %d %x %c %d %d %x %x %c\n", this->s.a, this->s.b, this->s.c, this->s.d,
	    this->s.in[0].y, this->s.in[1].y, this->s.e, this->s.f, this->s.g);
	printf("%d %d %d %d\n", sizeof (struct bits), offsetof(struct bits, d),
	    offsetof(struct bits, in), offsetof(struct bits, g));
	a[2] = 7;
	a[3]++;
	a[3] <<= 4;
	m[1][2] = 5;
	printf("%d %d %d %d %d %d\n", a[0], a[2], a[3], sizeof (a), m[1][2], sizeof (m));
	u.w = 0x11223344;
	printf("%x %x\n", u.b[0], u.b[3]);
	self->me.ts = 99;
	printf("%d\n", self->me.ts);
}

/* this-> starts empty in each firing, not in each clause; a global keeps its value. */
BEGIN
{
	printf("%d %d\n", this->s.a, a[2]);
}

END
{
	printf("%d %d %d\n", this->s.a, a[2], i["write"].calls);
}
