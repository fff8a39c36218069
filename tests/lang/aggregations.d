/*
 * Each function over 1, 2, 3, 4, 10; by hand: sum 20, avg 4, the variance
 * (1 + 4 + 9 + 16 + 100) / 5 - 4 * 4 = 26 - 16 = 10, and for the deviation its root, 3 in integers.
 * A variance beyond 64 bits is the largest number.
 */
BEGIN
{
	@n = count(); @n = count(); @n = count(); @n = count(); @n = count();
	@s = sum(1); @s = sum(2); @s = sum(3); @s = sum(4); @s = sum(10);
	@a = avg(1); @a = avg(2); @a = avg(3); @a = avg(4); @a = avg(10);
	@l = min(1); @l = min(2); @l = min(3); @l = min(4); @l = min(10);
	@m = max(1); @m = max(2); @m = max(3); @m = max(4); @m = max(10);
	@d = stddev(1); @d = stddev(2); @d = stddev(3); @d = stddev(4); @d = stddev(10);
	@v = variance(1); @v = variance(2); @v = variance(3); @v = variance(4); @v = variance(10);
	@vast = variance(0); @vast = variance(0x7fffffffffffffff);
	@negative = min(-5); @negative = min(5);
	@least = max(-7);
}
