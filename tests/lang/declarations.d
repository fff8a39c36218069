inline int LIMIT = 3 * 4;
inline string WHO = "you";
typedef uint16_t small;
enum color { RED, GREEN = 5, BLUE };
small n;
uint64_t total[string];
BEGIN
{
	n = 65537;
	total["a"] = LIMIT;
	printf("%d %s %d %d %d %d %d\n", LIMIT, WHO, n, total["a"], RED, GREEN, BLUE);
	printf("%d %d\n", sizeof (small), (enum color)6 == BLUE);
}
