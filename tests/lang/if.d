BEGIN
{
	x = 5;
	if (x > 3)
		printf("more\n");
	else
		printf("less\n");
	if (x == 1) {
		printf("one\n");
	} else if (x == 5) {
		printf("five\n");
		if (x & 1) { printf("odd\n"); }
	} else {
		printf("other\n");
	}
}
