/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log line's text: ACRN's prefix, and a printf that needs no libc, takes no lock and allocates
 * nothing. Built for the host and for guests, which do not support floating point.
 */
#include <ringside/log_ring.h>

struct out {
	char *at, *end; /* end: of the room for a line */
	bool cut;
};

/* Replaces strnlen(), which a guest lacks. */
static size_t length(const char *text, size_t most)
{
	size_t n = 0;

	while (n < most && text[n])
		n++;
	return n;
}

static void put_char(struct out *o, char c)
{
	if (o->at < o->end)
		*o->at++ = c;
	else
		o->cut = true;
}

/* Copies bytes. Most texts are short, and a call of memcpy() would cost more than the copy. Copies
 * whole words, of which the last two may overlap. Returns the end of the copy. */
static char *copy(char *to, const char *from, size_t n)
{
	if (n >= 8) {
		for (size_t i = 0; i < n - 8; i += 8)
			__builtin_memcpy(to + i, from + i, 8);
		__builtin_memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		__builtin_memcpy(to, from, 4);
		__builtin_memcpy(to + n - 4, from + n - 4, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	}
	return to + n;
}

static void put_bytes(struct out *o, const char *text, size_t n)
{
	size_t room = (size_t)(o->end - o->at);

	if (n > room) {
		n = room;
		o->cut = true;
	}
	o->at = copy(o->at, text, n);
}

static void put_fill(struct out *o, char c, int n)
{
	while (n-- > 0 && !o->cut)
		put_char(o, c);
}

/* ---- numbers ------------------------------------------------------------------------------- */

#define DIGITS_MAX 24 /* of 64 bits in octal, and some */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
			    "34353637383940414243444546474849505152535455565758596061626364656667"
			    "6869707172737475767778798081828384858687888990919293949596979899";

/* Writes two digits at a time, from the end. Returns the address of the first digit. */
static char *decimal(char *end, uint64_t value)
{
	for (; value >= 100; value /= 100) {
		end -= 2;
		__builtin_memcpy(end, &pairs[value % 100 * 2], 2);
	}
	if (value >= 10) {
		end -= 2;
		__builtin_memcpy(end, &pairs[value * 2], 2);
	} else {
		*--end = (char)('0' + value);
	}
	return end;
}

/* Returns the number of a value's digits. 1233 / 4096 is a little more than log10(2). */
static uint32_t digits_of(uint64_t value)
{
	static const uint64_t powers[] = { 0,
					   10,
					   100,
					   1000,
					   10000,
					   100000,
					   1000000,
					   10000000,
					   100000000,
					   1000000000,
					   10000000000,
					   100000000000,
					   1000000000000,
					   10000000000000,
					   100000000000000,
					   1000000000000000,
					   10000000000000000,
					   100000000000000000,
					   1000000000000000000,
					   10000000000000000000u };
	uint32_t n = (uint32_t)(64 - __builtin_clzll(value | 1)) * 1233 >> 12;

	return n + (value >= powers[n]);
}

/* Writes a number directly to its place, because a later copy in words would stall on the bytes.
 * Returns the end of the number. */
static char *add_decimal(char *at, uint64_t value)
{
	char *end = at + (value ? digits_of(value) : 1);

	decimal(end, value);
	return end;
}

static char *power_of_two(char *end, uint64_t value, uint32_t bits, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";

	do {
		*--end = digits[value & ((1u << bits) - 1)];
		value >>= bits;
	} while (value);
	return end;
}

static char *add_hex(char *at, uint64_t value)
{
	char *end = at + (value ? 16 - __builtin_clzll(value) / 4 : 1);

	power_of_two(end, value, 4, false);
	return end;
}

/* ---- a conversion -------------------------------------------------------------------------- */

struct conversion {
	bool left, zero, plus, space, alternate;
	int width, precision; /* precision -1: none */
	int size;	      /* of the argument: -2 hh, -1 h, 0 int, 1 long or as large */
	char letter;
};

/* Parses %[flags][width][.precision][size]letter after the %. Returns the address after it. */
static const char *parse(const char *f, struct conversion *c, va_list *args)
{
	int *number = &c->width;

	*c = (struct conversion){ .precision = -1 };
	for (;; f++) {
		if (*f == '-')
			c->left = true;
		else if (*f == '0')
			c->zero = true;
		else if (*f == '+')
			c->plus = true;
		else if (*f == ' ')
			c->space = true;
		else if (*f == '#')
			c->alternate = true;
		else
			break;
	}
	for (;;) {
		if (*f == '*') {
			*number = va_arg(*args, int);
			f++;
		}
		while (*f >= '0' && *f <= '9') {
			*number =
				*number < (int)RS_LOG_LINE_MAX ? *number * 10 + *f - '0' : *number;
			f++;
		}
		if (*f != '.' || number == &c->precision)
			break;
		number = &c->precision;
		*number = 0;
		f++;
	}
	if (c->width < 0) {
		c->left = true;
		c->width = c->width < -(int)RS_LOG_LINE_MAX ? (int)RS_LOG_LINE_MAX : -c->width;
	}
	for (;; f++) {
		if (*f == 'h')
			c->size--;
		else if (*f == 'l' || *f == 'z' || *f == 't' || *f == 'j')
			c->size = 1;
		else
			break;
	}
	c->letter = *f;
	return *f ? f + 1 : f;
}

static uint64_t unsigned_of(const struct conversion *c, va_list *args)
{
	if (c->size > 0)
		return va_arg(*args, uint64_t);
	if (c->size == 0)
		return va_arg(*args, unsigned int);
	return c->size == -1 ? (uint16_t)va_arg(*args, unsigned int)
			     : (uint8_t)va_arg(*args, unsigned int);
}

static int64_t signed_of(const struct conversion *c, va_list *args)
{
	if (c->size > 0)
		return va_arg(*args, int64_t);
	if (c->size == 0)
		return va_arg(*args, int);
	return c->size == -1 ? (int16_t)va_arg(*args, int) : (int8_t)va_arg(*args, int);
}

/* Writes a sign or 0x, zeros and digits in a field. */
static void put_number(struct out *o, const struct conversion *c, const char *sign,
		       const char *digits, int n)
{
	int signs = (int)length(sign, 2);
	int zeros = c->precision > n ? c->precision - n : 0;
	int pad = c->width - signs - zeros - n;

	if (pad > 0 && c->zero && !c->left && c->precision < 0) {
		zeros += pad;
		pad = 0;
	}
	if (!c->left)
		put_fill(o, ' ', pad);
	put_bytes(o, sign, (size_t)signs);
	put_fill(o, '0', zeros);
	put_bytes(o, digits, (size_t)n);
	if (c->left)
		put_fill(o, ' ', pad);
}

static void convert_decimal(struct out *o, const struct conversion *c, uint64_t value,
			    const char *sign)
{
	char digits[DIGITS_MAX];
	char *end = digits + DIGITS_MAX;
	char *from = c->precision == 0 && !value ? end : decimal(end, value);

	put_number(o, c, sign, from, (int)(end - from));
}

static void convert_bits(struct out *o, struct conversion *c, uint64_t value)
{
	uint32_t bits = c->letter == 'o' ? 3 : 4;
	char digits[DIGITS_MAX];
	char *end = digits + DIGITS_MAX;
	char *from = c->precision == 0 && !value ? end
						 : power_of_two(end, value, bits, c->letter == 'X');
	const char *sign = "";

	if (c->alternate && bits == 3) {
		if (from == end || *from != '0')
			*--from = '0';
	} else if (c->alternate && value) {
		sign = c->letter == 'X' ? "0X" : "0x";
	}
	put_number(o, c, sign, from, (int)(end - from));
}

static void convert_text(struct out *o, const struct conversion *c, const char *text)
{
	size_t most = c->precision >= 0 ? (size_t)c->precision : RS_LOG_LINE_MAX + 1;
	size_t n;

	if (!text)
		text = "(null)";
	n = length(text, most);
	if (!c->left)
		put_fill(o, ' ', c->width - (int)n);
	put_bytes(o, text, n);
	if (c->left)
		put_fill(o, ' ', c->width - (int)n);
}

/* Writes an argument. Returns false if the conversion is unknown. */
static bool convert(struct out *o, struct conversion *c, va_list *args)
{
	int64_t value;
	char one[2] = { 0 };

	switch (c->letter) {
	case '%':
		put_char(o, '%');
		return true;
	case 'c':
		one[0] = (char)va_arg(*args, int);
		convert_text(o, c, one);
		return true;
	case 's':
		convert_text(o, c, va_arg(*args, const char *));
		return true;
	case 'd':
	case 'i':
		value = signed_of(c, args);
		convert_decimal(o, c, value < 0 ? -(uint64_t)value : (uint64_t)value,
				value < 0  ? "-"
				: c->plus  ? "+"
				: c->space ? " "
					   : "");
		return true;
	case 'u':
		convert_decimal(o, c, unsigned_of(c, args), "");
		return true;
	case 'p':
		c->alternate = true;
		convert_bits(o, c, (uintptr_t)va_arg(*args, void *));
		return true;
	case 'x':
	case 'X':
	case 'o':
		convert_bits(o, c, unsigned_of(c, args));
		return true;
	default:
		return false;
	}
}

/* Formats a conversion that consists of only a size and a letter, if the line's end is far enough.
 * Returns the address after the conversion, or NULL for another conversion. */
static const char *convert_simple(struct out *o, const char *f, va_list *args)
{
	const char *text;
	bool is_long = false;
	uint64_t value;

	if (o->end - o->at < DIGITS_MAX)
		return NULL;
	for (; *f == 'l'; f++)
		is_long = true;
	switch (*f) {
	case 'd':
		value = is_long ? va_arg(*args, uint64_t) : (uint64_t)va_arg(*args, int);
		if ((int64_t)value < 0) {
			*o->at++ = '-';
			value = -value;
		}
		o->at = add_decimal(o->at, value);
		return f + 1;
	case 'u':
		value = is_long ? va_arg(*args, uint64_t) : va_arg(*args, unsigned int);
		o->at = add_decimal(o->at, value);
		return f + 1;
	case 'x':
		value = is_long ? va_arg(*args, uint64_t) : va_arg(*args, unsigned int);
		o->at = add_hex(o->at, value);
		return f + 1;
	case 's':
		text = va_arg(*args, const char *);
		if (!text)
			text = "(null)";
		put_bytes(o, text, length(text, RS_LOG_LINE_MAX + 1));
		return f + 1;
	default:
		return NULL;
	}
}

static void put_format(struct out *o, const char *f, va_list *args)
{
	while (*f && !o->cut) {
		const char *from = f, *behind;
		struct conversion c;

		while (*f && *f != '%')
			f++;
		put_bytes(o, from, (size_t)(f - from));
		if (!*f || o->cut)
			break;
		behind = convert_simple(o, f + 1, args);
		from = f;
		f = behind ? behind : parse(f + 1, &c, args);
		if (behind || convert(o, &c, args))
			continue;
		/* From here on, arguments cannot be matched with conversions. */
		put_bytes(o, from, length(from, RS_LOG_LINE_MAX + 1));
		break;
	}
}

/* ---- the line ------------------------------------------------------------------------------ */

/* A thread's name is cut at this many bytes, so the prefix ends long before the line, and is
 * written without checks for room. */
#define THREAD_MAX 64u
#define PREFIX_MAX (sizeof("[us][cpu=][][sev=][seq=]:") + 4 * 20 + THREAD_MAX)
_Static_assert(PREFIX_MAX < RS_LOG_LINE_MAX, "with room for a message");

#define ADD(at, text) (__builtin_memcpy((at), (text), sizeof(text) - 1), (at) + sizeof(text) - 1)

static char *add_small(char *at, uint32_t value)
{
	if (value > 9)
		return add_decimal(at, value);
	*at = (char)('0' + value);
	return at + 1;
}

static char *add_prefix(char *at, const struct rs_log_prefix *prefix)
{
	at = ADD(at, "[");
	at = add_decimal(at, prefix->us);
	at = ADD(at, "us][cpu=");
	at = add_small(at, prefix->cpu);
	at = ADD(at, "][");
	at = copy(at, prefix->thread,
		  prefix->thread_bytes < THREAD_MAX ? prefix->thread_bytes : THREAD_MAX);
	at = ADD(at, "][sev=");
	at = add_small(at, prefix->level);
	at = ADD(at, "][seq=");
	at = add_decimal(at, prefix->seq);
	return ADD(at, "]:");
}

/* Marks the end of a line that was cut, without splitting a multibyte character. */
static void mark_cut(struct out *o)
{
	char *at = o->end - (sizeof(RS_LOG_CUT) - 1);

	while (((unsigned char)*at & 0xc0) == 0x80)
		at--;
	o->at = ADD(at, RS_LOG_CUT);
}

void rs_log_line_make(struct rs_log_line_buffer *line, const struct rs_log_prefix *prefix,
		      const char *format, va_list args)
{
	char *text = (char *)line->words;
	struct out o = { text, text + RS_LOG_LINE_MAX, false };
	va_list copy;

	o.at = add_prefix(text, prefix);
	line->message = (uint32_t)(o.at - text);
	va_copy(copy, args);
	put_format(&o, format, &copy);
	va_end(copy);
	if (o.cut)
		mark_cut(&o);
	else if (o.at[-1] == '\n')
		o.at--;
	line->bytes = (uint32_t)(o.at - text);
	line->cut = o.cut;
}

const char *rs_log_line_message(const struct rs_log_line_buffer *line, uint32_t *bytes)
{
	*bytes = line->bytes - line->message;
	return (const char *)line->words + line->message;
}
