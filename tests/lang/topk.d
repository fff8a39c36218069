BEGIN
{
	walk (90, it - 1, 90) {
		@[it % 2 ? "odd" : "even"] = topk(2, it % 6);
	}
	@one = topk(3, 5);
}
