int x; int64_t y; uint8_t z; char c;
BEGIN
{
	printf("%d %d %d %d\n", 7 / 2, -7 / 2, 7 % 3, -7 % 3);
	printf("%d %d %d\n", 1 + 2 * 3, (1 + 2) * 3, 10 - 3 - 2);
	printf("%d %d %d %d\n", 6 & 3, 6 | 3, 6 ^ 3, ~6);
	printf("%d %d %d\n", 1 << 4, -16 >> 2, 0xf0 >> 4);
	printf("%d%d%d%d%d%d\n", 1 < 2, 2 <= 2, 1 > 2, 2 >= 3, 1 == 1, 1 != 1);
	printf("%d%d%d%d%d%d\n", 1 && 0, 1 || 0, 1 ^^ 1, 1 ^^ 0, !5, !0);
	printf("%d %s\n", 5 > 3 ? 10 : 20, 5 < 3 ? "a" : "b");
	printf("%d %d\n", -1 < 1U, -1LL < 1U);
	z = 300; c = 200; x = 0x1ffffffff; y = 1; y <<= 40;
	printf("%d %d %d %d\n", z, c, x, y);
	x = 5; x += 3; x *= 2; x -= 1; x /= 4; x %= 2; x |= 6; x &= 5; x ^= 1;
	printf("%d %d %d %d %d\n", x, x++, x, ++x, x--);
	printf("%d %d %d\n", (1, 2), sizeof (int), sizeof (uint64_t));
	printf("%d %d %d\n", 'A', '\n', 010);
}
