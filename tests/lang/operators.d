/*
 * On variables, because the compiler folds constants: signed and unsigned, each operator of C, by
 * C's rules for 64 bits.
 */
int64_t s, t;
uint64_t u, v;

BEGIN
{
	s = -7; t = 2; u = -7; v = 2;
	printf("%d %d %d %d %d\n", s + t, s - t, s * t, s / t, s % t);
	printf("%d %d\n", u / v, u % v);
	printf("%d %d %d %d %d\n", s & t, s | t, s ^ t, ~s, -s);
	printf("%d %d %x\n", s << t, s >> t, u >> v);
	printf("%d%d%d%d%d%d\n", s < t, s <= t, s > t, s >= t, s == t, s != t);
	printf("%d%d%d%d%d%d\n", u < v, u <= v, u > v, u >= v, u == v, u != v);
	printf("%d%d%d%d%d%d\n", s && t, s || t, s ^^ t, !s, !!s, s && !t);
	printf("%d %d %d\n", s < 0 ? 1 : 2, u < 0 ? 1 : 2, (s, t));
}

BEGIN
{
	s = 100; s += 7; printf("%d ", s); s -= 9; printf("%d ", s); s *= 3; printf("%d ", s);
	s /= 5; printf("%d ", s); s %= 37; printf("%d ", s); s <<= 6; printf("%d ", s);
	s >>= 2; printf("%d ", s); s |= 9; printf("%d ", s); s &= 0x3c; printf("%d ", s);
	s ^= 0xff; printf("%d\n", s);
	printf("%d ", s++); printf("%d ", s--); printf("%d ", ++s); printf("%d\n", --s);
}

/* The right side of && and || is evaluated only if needed. */
BEGIN
{
	t = 0;
	this->a = s && ++t;
	this->b = s || ++t;
	this->c = !s && ++t;
	printf("%d %d %d %d\n", t, this->a, this->b, this->c);
}
