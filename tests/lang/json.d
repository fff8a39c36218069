// args: --json -q -s {} --on examples/traces/hello
struct s { int a; char name[4]; unsigned b : 3; long c[2]; int d : 3, e : 24; };
this struct s x;

BEGIN
{
	this->x.a = -5;
	this->x.b = 9;
	this->x.c[1] = 1LL << 60;
	this->x.d = 3;
	this->x.e = -5;
	printf("a \"line\"\n\t\x01%s", "\xff");
	trace(7);
	trace("text");
	print(this->x);
	@c["k", 1] = count();
	@q = quantize(-5);
	@q = quantize(0);
	@q = quantize(9);
	@l = lquantize(3, 10, 30, 10);
	@l = lquantize(15, 10, 30, 10);
	@l = lquantize(99, 10, 30, 10);
	@m = llquantize(25, 10, 1, 3, 10);
	@t = topk(2, 4);
	walk (6, it - 1, 6)
		@n = topk(2, 7);
	walk (3, it - 1, 3)
		@n = topk(2, 8);
	normalize(@n, 3);
	@s = stddev(4);
	printa(@c);
}

BEGIN
{
	this->nothing = 1;
}

vmm:vcpu::exit
{
	@exits[vm, vcpu, stringof(args.reason)] = count();
}
