BEGIN
{
	@a["one"] = sum(1); @a["two"] = sum(2); @a["three"] = sum(3); @a["four"] = sum(4);
	trunc(@a, 3); printa("%s ", @a); printf("\n");
	trunc(@a, -2); printa("%s ", @a); printf("\n");
	normalize(@a, 2); printa("%s %@d ", @a); printf("\n");
	denormalize(@a); printa("%s %@d ", @a); printf("\n");
	clear(@a); printa("%s %@d ", @a); printf("\n");
	@a["two"] = sum(9); printa("%s %@d ", @a); printf("\n");
	trunc(@a, -9223372036854775807 - 1); printa("%s ", @a); printf("\n");
	trunc(@a); printa("%s ", @a); printf(".\n");
}
