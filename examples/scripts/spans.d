/*
 * spans.d - durations of a guest's or a VMM's spans, by name: count, and distribution in ns.
 *
 *	ringside script -s examples/scripts/spans.d --on TRACE
 */
#pragma D option quiet

:span::begin
{
	/* Spans of one name may be nested, so each depth has its own begin. */
	self->begin[probeprov, args.name, args.depth] = timestamp;
}

:span::end
/self->begin[probeprov, args.name, args.depth]/
{
	this->ns = timestamp - self->begin[probeprov, args.name, args.depth];
	self->begin[probeprov, args.name, args.depth] = 0;
	@count[probeprov, args.name] = count();
	@total[probeprov, args.name] = sum(this->ns);
	@average[probeprov, args.name] = avg(this->ns);
	@spread[probeprov, args.name] = quantize(this->ns);
}

END
{
	printf("%-8s %-32s %8s %14s %14s", "WHO", "SPAN", "COUNT", "TOTAL ns", "AVERAGE ns");
	printf("\n");
	printa("%-8s %-32s %@8d %@14d %@14d\n", @count, @total, @average);
	printa("\n%s %s%@d", @spread);
}
