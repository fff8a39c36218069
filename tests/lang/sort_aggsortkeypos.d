#pragma D option aggsortkeypos=1
#pragma D option aggsortkey
BEGIN
{
	@a["x", 3] = sum(1); @a["y", 1] = sum(3); @a["z", 2] = sum(1);
	@b["x", 3] = sum(9); @b["y", 1] = sum(7); @b["z", 2] = sum(8);
	printa("%s %d %@d %@d\n", @a, @b);
}
