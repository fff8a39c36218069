/* Keys of each width, in DTrace's columns; sorted by value, then by key. */
BEGIN
{
	@["b", 2] = count();
	@["a", 1] = count();
	@["c", 1] = count();
	@["c", 1] = count();
	@wide[(char)1, (short)2, 3, 4LL] = sum(9);
}
