struct callinfo { uint64_t ts, calls; };
typedef struct { int pid; string name; uint64_t twice; } info_t;
translator info_t < struct callinfo *P > {
	pid = P->calls;
	name = strjoin("at ", lltostr(P->ts));
};
translator info_t < int N > { pid = N * 2; twice = xlate <info_t> ((int)N).pid * 2; };
inline info_t *INFO = xlate <info_t *> (seven);
int seven;

BEGIN
{
	seven = 7;
	this->p = (struct callinfo *)alloca(sizeof (struct callinfo));
	this->p->ts = 42;
	this->p->calls = 65537;
	printf("%d %s\n", xlate <info_t *> (this->p)->pid, xlate <info_t *> (this->p)->name);
	this->o = xlate <info_t> (21);
	printf("%d %d '%s'\n", this->o.pid, this->o.twice, this->o.name);
	this->q = xlate <info_t *> (this->p);
	printf("%d %s\n", this->q->pid, this->q->name);
	printf("%d %d\n", INFO->pid, INFO->twice);
}
