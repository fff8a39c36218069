BEGIN
{
	@n["x", 1] = count(); @n["y", 2] = count(); @n["y", 2] = count();
	@s["y", 2] = sum(30); @s["z", 3] = sum(50);
	printa(@n);
	printa("%s/%d: %@d\n", @n);
	printa("%-4s|%3d|%@4d|%@-6d|\n", @n, @s);
	printa(@n, @s);
	@q["a"] = quantize(1);
	printa("dist of %s:%@d\n", @q);
}
