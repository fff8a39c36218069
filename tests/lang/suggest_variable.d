BEGIN
{
	x = 1; trace(timestmap);
}
