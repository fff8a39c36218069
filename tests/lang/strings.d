BEGIN
{
	printf("%d [%s] [%s] [%s] [%s]\n", strlen("hello"), strjoin("foo", "bar"),
	    substr("abcdefg", 2), substr("abcdefg", 2, 3), substr("abcdefg", -3, 2));
	printf("[%s] [%s] [%s]\n", substr("abc", 5), substr("abcdefg", 1, -2), substr("abc", -9, 2));
	printf("%d %d %d %d\n", index("hello world", "o"), index("hello world", "o", 5),
	    rindex("hello world", "o"), index("abc", "z"));
	printf("%d %d\n", rindex("hello world", "o", 6), rindex("abc", "z"));
	printf("[%s] [%s] [%s]\n", strstr("a=b=c", "b"), strchr("a=b=c", '='), strrchr("a=b=c", '='));
	printf("[%s] ", strtok("  one two,three", " ,"));
	printf("[%s] ", strtok(NULL, " ,"));
	printf("[%s] ", strtok(NULL, " ,"));
	printf("[%s]\n", strtok(NULL, " ,"));
	printf("%s %s %s %s\n", lltostr(-123), lltostr(255, 16), lltostr(8, 8), lltostr(5, 2));
	printf("%d %d\n", strtoll("42x"), strtoll("ff", 16));
	printf("[%s] [%s] [%s] [%s]\n", basename("/foo/bar/baz"), basename("/foo///"),
	    basename("/"), basename(""));
	printf("[%s] [%s] [%s] [%s]\n", dirname("/foo/bar/baz"), dirname("/foo///"), dirname("/"),
	    dirname("foo"));
	printf("%s %s\n", toupper("aBc1"), tolower("AbC1"));
	this->ip = (ipaddr_t *)alloca(sizeof (ipaddr_t));
	*this->ip = htonl(0x7f000001);
	printf("%s %x %x\n", inet_ntoa(this->ip), htons(0x1234), htonl(0x12345678));
	printf("%d%d%d%d\n", "abc" == "abc", "abc" < "abd", "b" > "abc", "a" != "a");
	/* A loaded string is a copy: it outlives a change and the end of its variable. */
	last["x"] = "first";
	this->before = last["x"];
	last["x"] = "second";
	printf("%s -> %s\n", this->before, last["x"]);
	self->words = "one,two";
	printf("%s ", strtok(self->words, ","));
	self->words = "1,2,3,4";
	printf("%s ", strtok(NULL, ","));
	self->words = 0;
	printf("[%s]\n", self->words);
}
