/* The powers of ten from 10^0 to 10^2, each in ten steps: bins of 1, then of 10, then of 100. */
BEGIN
{
	@ = llquantize(0, 10, 0, 2, 10); @ = llquantize(1, 10, 0, 2, 10);
	@ = llquantize(5, 10, 0, 2, 10); @ = llquantize(15, 10, 0, 2, 10);
	@ = llquantize(19, 10, 0, 2, 10); @ = llquantize(20, 10, 0, 2, 10);
}
BEGIN
{
	@end = llquantize(999, 10, 0, 2, 10); @end = llquantize(1000, 10, 0, 2, 10);
	@end = llquantize(950, 10, 0, 2, 10);
}
