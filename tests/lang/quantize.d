/* 0; 1; 2 and 3; 4 to 7; -1; -2 and -3: quantize() counts by powers of two. */
BEGIN
{
	@["plus"] = quantize(0); @["plus"] = quantize(1); @["plus"] = quantize(2);
	@["plus"] = quantize(3); @["plus"] = quantize(7); @["plus"] = quantize(8, 5);
}
BEGIN
{
	@minus = quantize(-1); @minus = quantize(-3); @minus = quantize(-2); @minus = quantize(4);
}
