/* Network addresses, paths, JSON. */
BEGIN
{
	this->ip = (uint8_t *)alloca(16);
	this->ip[0] = 192;
	this->ip[1] = 168;
	this->ip[3] = 7;
	printf("%s %s\n", inet_ntoa((ipaddr_t *)this->ip), inet_ntop(2, this->ip));
	this->ip[0] = 0xfe;
	this->ip[1] = 0x80;
	this->ip[3] = 0;
	this->ip[15] = 0x2a;
	printf("%s %s %s\n", inet_ntoa6(this->ip), inet_ntop(10, this->ip), inet_ntop(26, this->ip));
	printf("%s\n%s\n", link_ntop(1, this->ip), link_ntop(32, alloca(20)));
	printf("[%s] [%s] [%s] [%s]\n", cleanpath("/a//b/./c"), cleanpath("/a/b/../c"),
	    cleanpath("/../x"), cleanpath("/a/.."));
	printf("[%s] [%s] [%s]\n", cleanpath("a/.b/..c"), cleanpath("./a"), cleanpath(""));
	this->j = "{\"a\": {\"b\": [1, \"two\", {\"c\": true}]}, \"d\": -2.5}";
	printf("[%s] [%s] [%s] [%s]\n", json(this->j, "a.b[0]"), json(this->j, "a.b[1]"),
	    json(this->j, "a.b[2].c"), json(this->j, "d"));
	printf("[%s] [%s] [%s] [%s]\n", json(this->j, "a.b[2]"), json(this->j, "a.x"),
	    json(this->j, "a.b[9]"), json("no JSON", "a"));
}

BEGIN
{
	trace(inet_ntop(3, alloca(16)));
}

BEGIN
{
	trace(link_ntop(2, alloca(20)));
}
