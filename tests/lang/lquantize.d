BEGIN
{
	@["low"] = lquantize(-5, 0, 100, 10); @["low"] = lquantize(0, 0, 100, 10);
	@["low"] = lquantize(9, 0, 100, 10); @["low"] = lquantize(10, 0, 100, 10);
	@["top"] = lquantize(99, 0, 100, 10); @["top"] = lquantize(100, 0, 100, 10);
	@["top"] = lquantize(1000, 0, 100, 10); @["top"] = lquantize(95, 0, 100, 10);
}
