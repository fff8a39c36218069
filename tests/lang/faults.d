/* Causes of ERROR, by DTrace's numbers: 1 an address, 3 what is absent, 4 a division, 5 no room,
 * 8 keys too long. */
#pragma D option strsize=4096
int zero;
string keys[string, string, string];

BEGIN { trace(*(int *)64); }
BEGIN { trace(reg("rip")); }
BEGIN { trace(5 / zero); }
BEGIN { trace(5 % zero); }
BEGIN { this->much = alloca(1 << 30); }
BEGIN /5 / zero/ { trace("never"); }
BEGIN
{
	this->t = "0123456789abcdef";
	this->t = strjoin(this->t, this->t);
	this->t = strjoin(this->t, this->t);
	this->t = strjoin(this->t, this->t);
	this->t = strjoin(this->t, this->t);
	this->t = strjoin(this->t, this->t);
	this->t = strjoin(this->t, this->t);
	this->t = strjoin(this->t, this->t);
	this->t = strjoin(this->t, this->t);
	keys[this->t, this->t, this->t] = "x";
}
ERROR { printf("%d of %d\n", arg4, arg2); }
/* The bytes of a key, which are in the same memory as alloca()'s, are beyond a pointer's reach. */
BEGIN { @["key"] = sum(*((char *)alloca(8) - 7) = 127); }
BEGIN { this->p = (char *)alloca(8); @["key"] = sum(*(this->p + 17) = 127); }
