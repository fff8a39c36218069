/* Byte orders, addresses without symbols, and random numbers that are the same in each run. */
BEGIN
{
	printf("%x %x\n", htons(0x1234), ntohs(0x1234));
	printf("%x %x\n", htonl(0x12345678), ntohl(0x12345678));
	printf("%x %x\n", htonll(0x123456789abcdef0), ntohll(0x123456789abcdef0));
	printf("%d %d\n", rand() == rand(), rand() == rand());
	this->first = strtok("a:b", ":");
	printf("%s %s [%s]\n", this->first, strtok_next(":"), strtok_next(":"));
}

BEGIN
{
	mod(4096);
	umod(4097);
	uaddr(4098);
	printf("\n");
}
