BEGIN
{
	printf("%d %i %u %x %X %o\n", -5, 5, 5, 0xabc, 0xabc, 8);
	printf("%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", 42, 42, 42, 42, 42, 255, 8);
	printf("%s|%6s|%-6s|%.2s|%*d|%-*d|%.*s\n", "abc", "abc", "abc", "abc", 4, 7, 4, 7, 1, "xyz");
	printf("%c%c %%\n", 'o', 107);
	printf("%u %d %x\n", -1, (uint32_t)-1, (char)-1);
	printf("%S\n", "a\tb\n\"\001");
	printf("%Y\n", 1109766600000000000);
	printf("%lld %hd %p\n", 1, 2, 0x10);
	printf("%C%C%C %?x|%-?x| %wc%ws%lu\n", 'A', 10, 1, 255, 255, 'B', "c", 3);
	printf("%a %A %20a|%k|\n", 0x10, 0xffffffff81000000, 16, "stack");
	printf("%T\n", 1109766600000000000);
	printf("%'d %.5d %+.3d|%#o|% -6d|\n", 1234567, 42, 7, 0, 5);
}
