/* Of 1 to 7, each once: half of them do not exceed 4; each value below 16 has its own bin. */
BEGIN
{
	@none = p(0, 1); @half = p(50, 1); @most = p(90, 1); @all = p(100, 1);
	@none = p(0, 2); @half = p(50, 2); @most = p(90, 2); @all = p(100, 2);
	@none = p(0, 3); @half = p(50, 3); @most = p(90, 3); @all = p(100, 3);
	@none = p(0, 4); @half = p(50, 4); @most = p(90, 4); @all = p(100, 4);
	@none = p(0, 5); @half = p(50, 5); @most = p(90, 5); @all = p(100, 5);
	@none = p(0, 6); @half = p(50, 6); @most = p(90, 6); @all = p(100, 6);
	@none = p(0, 7); @half = p(50, 7); @most = p(90, 7); @all = p(100, 7);
	@alone["x"] = p(50, 1000000);
	@negative = p(50, -5);
	printa("%@d ", @none); printa("%@d ", @half); printa("%@d ", @most); printa("%@d ", @all);
	printa("%s %@d ", @alone); printa("%@d\n", @negative);
}
