BEGIN
{
	@[1] = sum(5);
	@[2] = sum(3);
	printa("%d %@d\n", @);
	setopt("aggsortrev");
	printa("%d %@d\n", @);
	setopt("aggsortkey", "1");
	printa("%d %@d\n", @);
	setopt("bufsize", "4m");
	setopt("strsize", "9");
	setopt("quiet", "maybe");
}
