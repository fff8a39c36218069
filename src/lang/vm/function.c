/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * D's functions, one row each. A result that is part of an argument is not copied; a new string is
 * cut to strsize, and is in the scratch memory of the firing.
 */
#include "lang/vm/guest.h"
#include "lang/vm/machine.h"
#include "lang/vm/memory.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <jansson.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AF_INET6_SOLARIS 26

static struct value part(const struct value *of, size_t from, size_t len)
{
	return (struct value){ .s = of->s + from, .len = (uint32_t)len };
}

/* Allocates a string of len bytes, limited by strsize. */
static bool make(struct firing *f, size_t len, struct value *result, char **at)
{
	size_t most = f->script->options[OPT_STRSIZE] - 1;

	if (len > most)
		len = most;
	*at = scratch(f, len + 1);
	*result = (struct value){ .s = *at ? *at : "", .len = *at ? (uint32_t)len : 0 };
	return *at;
}

static bool number(uint64_t value, struct value *result)
{
	*result = (struct value){ .i = value };
	return true;
}

#define FUNCTION(name)                                                                             \
	static bool call_##name(struct firing *f, const struct value *args, uint32_t n,            \
				struct value *result)
#define UNUSED (void)f, (void)args, (void)n

FUNCTION(strlen)
{
	UNUSED;
	return number(args[0].len, result);
}

FUNCTION(strjoin)
{
	size_t first;
	char *at;

	UNUSED;
	if (!make(f, (size_t)args[0].len + args[1].len, result, &at))
		return false;
	first = args[0].len < result->len ? args[0].len : result->len;
	memcpy(at, args[0].s, first);
	memcpy(at + first, args[1].s, result->len - first);
	return true;
}

/* As in Perl, a negative position counts from the end, and a negative length omits that many
 * bytes at the end. */
FUNCTION(substr)
{
	int64_t len = args[0].len, from = (int64_t)args[1].i, to = len;

	(void)f;
	if (from < 0)
		from = from < -len ? 0 : len + from;
	if (from > len)
		from = len;
	if (n > 2) {
		int64_t most = (int64_t)args[2].i;

		if (most < 0)
			to = most < -len ? 0 : len + most;
		else if (most < len - from)
			to = from + most;
	}
	*result = part(&args[0], (size_t)from, to > from ? (size_t)(to - from) : 0);
	return true;
}

static const char *find_first(const struct value *in, size_t from, const struct value *what)
{
	if (from > in->len)
		return NULL;
	if (!what->len)
		return in->s + from;
	return memmem(in->s + from, in->len - from, what->s, what->len);
}

FUNCTION(index)
{
	int64_t from = n > 2 ? (int64_t)args[2].i : 0;
	const char *at;

	(void)f;
	if (from < 0)
		from = 0;
	at = find_first(&args[0], (size_t)from, &args[1]);
	return number(at ? (uint64_t)(at - args[0].s) : UINT64_MAX, result);
}

FUNCTION(rindex)
{
	int64_t last = (int64_t)args[0].len - (int64_t)args[1].len;

	(void)f;
	if (n > 2 && (int64_t)args[2].i < last)
		last = (int64_t)args[2].i;
	for (; last >= 0; last--) {
		if (!memcmp(args[0].s + last, args[1].s, args[1].len))
			return number((uint64_t)last, result);
	}
	return number(UINT64_MAX, result);
}

/* Returns the string from the first occurrence on, or "". */
FUNCTION(strstr)
{
	const char *at = find_first(&args[0], 0, &args[1]);
	size_t from = at ? (size_t)(at - args[0].s) : args[0].len;

	UNUSED;
	*result = part(&args[0], from, args[0].len - from);
	return true;
}

FUNCTION(strchr)
{
	const char *at = memchr(args[0].s, (int)(args[1].i & 0xff), args[0].len);
	size_t from = at ? (size_t)(at - args[0].s) : args[0].len;

	UNUSED;
	*result = part(&args[0], from, args[0].len - from);
	return true;
}

FUNCTION(strrchr)
{
	const char *at = memrchr(args[0].s, (int)(args[1].i & 0xff), args[0].len);
	size_t from = at ? (size_t)(at - args[0].s) : args[0].len;

	UNUSED;
	*result = part(&args[0], from, args[0].len - from);
	return true;
}

/* Returns the first word of a string; keeps the rest for strtok(NULL, ...). */
static bool token(struct firing *f, struct value of, const struct value *separators,
		  struct value *result)
{
	size_t from = 0, to;

	while (from < of.len && memchr(separators->s, of.s[from], separators->len))
		from++;
	for (to = from; to < of.len && !memchr(separators->s, of.s[to], separators->len);)
		to++;
	*result = part(&of, from, to - from);
	to += to < of.len;
	f->tokens = part(&of, to, of.len - to);
	scratch_keep(f, &f->tokens);
	return true;
}

FUNCTION(strtok)
{
	UNUSED;
	return token(f, args[0], &args[1], result);
}

FUNCTION(strtok_next)
{
	UNUSED;
	if (!f->tokens.s)
		f->tokens = value_text("");
	return token(f, f->tokens, &args[0], result);
}

FUNCTION(lltostr)
{
	int64_t base = n > 1 ? (int64_t)args[1].i : 10;
	bool negative = base == 10 && (int64_t)args[0].i < 0;
	uint64_t value = negative ? -args[0].i : args[0].i;
	char digits[72];
	size_t at = sizeof(digits);
	char *out;

	if (base < 2 || base > 36) {
		f->fault = FAULT_ILLOP;
		return false;
	}
	do {
		digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[value % (uint64_t)base];
		value /= (uint64_t)base;
	} while (value);
	if (base == 16)
		digits[--at] = 'x';
	if (base == 16 || (base == 8 && digits[at] != '0'))
		digits[--at] = '0';
	if (negative)
		digits[--at] = '-';
	if (!make(f, sizeof(digits) - at, result, &out))
		return false;
	memcpy(out, digits + at, result->len);
	return true;
}

FUNCTION(strtoll)
{
	int64_t base = n > 1 ? (int64_t)args[1].i : 10;
	char digits[72];
	size_t len = args[0].len < sizeof(digits) - 1 ? args[0].len : sizeof(digits) - 1;

	if (base < 2 || base > 36) {
		f->fault = FAULT_ILLOP;
		return false;
	}
	memcpy(digits, args[0].s, len);
	digits[len] = '\0';
	return number((uint64_t)strtoll(digits, NULL, (int)base), result);
}

/* Returns the part after the last slash, ignoring slashes at the end, as basename(1) does. */
static struct value base_of(const struct value *path)
{
	size_t to = path->len, from;

	while (to > 1 && path->s[to - 1] == '/')
		to--;
	for (from = to; from && path->s[from - 1] != '/'; from--)
		;
	if (to == 1 && path->s[0] == '/')
		from = 0;
	return part(path, from, to - from);
}

FUNCTION(basename)
{
	UNUSED;
	*result = args[0].len ? base_of(&args[0]) : value_text(".");
	return true;
}

FUNCTION(dirname)
{
	struct value base = base_of(&args[0]);
	size_t to = (size_t)(base.s - args[0].s);

	UNUSED;
	while (to > 1 && args[0].s[to - 1] == '/')
		to--;
	if (args[0].len && args[0].s[0] == '/')
		*result = part(&args[0], 0, to ? to : 1);
	else
		*result = to ? part(&args[0], 0, to) : value_text(".");
	return true;
}

static bool change_case(struct firing *f, const struct value *of, int (*change)(int),
			struct value *result)
{
	char *at;

	if (!make(f, of->len, result, &at))
		return false;
	for (uint32_t i = 0; i < result->len; i++)
		at[i] = (char)((unsigned char)of->s[i] < 128 ? change((unsigned char)of->s[i])
							     : of->s[i]);
	return true;
}

FUNCTION(toupper)
{
	UNUSED;
	return change_case(f, &args[0], toupper, result);
}

FUNCTION(tolower)
{
	UNUSED;
	return change_case(f, &args[0], tolower, result);
}

/* Converts an address in network byte order to text. family: the number of Linux or Solaris. */
static bool address_text(struct firing *f, uint64_t family, uint64_t where, struct value *result)
{
	char text[INET6_ADDRSTRLEN];
	bool v6 = family == AF_INET6 || family == AF_INET6_SOLARIS;
	const char *from;
	char *at;

	if (family != AF_INET && !v6) {
		f->fault = FAULT_ILLOP;
		return false;
	}
	from = rs_lang_memory_at(f, where, v6 ? 16 : 4, false);
	if (!from || !inet_ntop(v6 ? AF_INET6 : AF_INET, from, text, sizeof(text)) ||
	    !make(f, strlen(text), result, &at))
		return false;
	memcpy(at, text, result->len);
	return true;
}

FUNCTION(inet_ntoa)
{
	UNUSED;
	return address_text(f, AF_INET, args[0].i, result);
}

FUNCTION(inet_ntoa6)
{
	UNUSED;
	return address_text(f, AF_INET6, args[0].i, result);
}

FUNCTION(inet_ntop)
{
	UNUSED;
	return address_text(f, args[0].i, args[1].i, result);
}

/* Converts a hardware address to text. type: the number in Linux's include/uapi/linux/if_arp.h. */
FUNCTION(link_ntop)
{
	size_t bytes = args[0].i == ARPHRD_ETHER ? 6 : args[0].i == ARPHRD_INFINIBAND ? 20 : 0;
	char text[3 * 20 + 1];
	const uint8_t *from;
	char *at;

	UNUSED;
	if (!bytes) {
		f->fault = FAULT_ILLOP;
		return false;
	}
	from = (const uint8_t *)rs_lang_memory_at(f, args[1].i, bytes, false);
	if (!from || !make(f, 3 * bytes - 1, result, &at))
		return false;
	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 3 * i, 4, "%02x:", from[i]);
	memcpy(at, text, result->len);
	return true;
}

/* Removes "//", "/./" and "x/../" without reading the file system. */
FUNCTION(cleanpath)
{
	const char *path = args[0].s, *end = path + args[0].len;
	size_t len = 0;
	char *at;

	UNUSED;
	if (!make(f, args[0].len, result, &at))
		return false;
	end = path + result->len;
	while (path < end) {
		bool slash = *path == '/';
		size_t left = (size_t)(end - path);

		if (slash && left > 1 && path[1] == '/') {
			path++;
		} else if (slash && left > 2 && !memcmp(path, "/./", 3)) {
			path += 2;
		} else if (slash && left > 2 && !memcmp(path, "/..", 3) &&
			   (left == 3 || path[3] == '/')) {
			path += 3;
			while (len && at[--len] != '/')
				;
		} else {
			at[len++] = *path++;
		}
	}
	if (!len && args[0].len && args[0].s[0] == '/')
		at[len++] = '/';
	result->len = (uint32_t)len;
	return true;
}

/* Returns the value at "a.b[2].c" of an object, or NULL. Modifies path. */
static const json_t *json_at(const json_t *json, char *path)
{
	while (json && *path) {
		char *end = path + strcspn(path, ".["), last = *end;

		*end = '\0';
		if (end > path)
			json = json_object_get(json, path);
		path = end + (last != '\0');
		if (last == '[') {
			json = json_array_get(json, strtoul(path, &path, 10));
			path += *path == ']';
			path += *path == '.';
		}
	}
	return json;
}

FUNCTION(json)
{
	char path[256], *dumped = NULL;
	const char *text = "";
	const json_t *found;
	json_t *all;
	size_t len;
	char *at;

	UNUSED;
	snprintf(path, sizeof(path), "%.*s", (int)args[1].len, args[1].s);
	all = json_loadb(args[0].s, args[0].len, 0, NULL);
	found = json_at(all, path);
	if (json_is_string(found))
		text = json_string_value(found);
	else if (found)
		text = dumped = json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY);
	len = text ? strlen(text) : 0;
	if (!make(f, len, result, &at)) {
		len = 0;
		at = NULL;
	}
	if (at)
		memcpy(at, text ? text : "", result->len);
	free(dumped);
	json_decref(all);
	return at;
}

FUNCTION(htons)
{
	UNUSED;
	return number(htobe16((uint16_t)args[0].i), result);
}

FUNCTION(htonl)
{
	UNUSED;
	return number(htobe32((uint32_t)args[0].i), result);
}

FUNCTION(htonll)
{
	UNUSED;
	return number(htobe64(args[0].i), result);
}

/* Returns pseudo-random numbers, the same in each run, so that the output depends only on the
 * trace. */
FUNCTION(rand)
{
	uint64_t x = f->rt->random;

	UNUSED;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	f->rt->random = x;
	return number((x * UINT64_C(0x2545f4914f6cdd1d)) >> 32, result);
}

FUNCTION(speculation)
{
	UNUSED;
	for (uint64_t i = 0; i < f->script->options[OPT_NSPEC]; i++) {
		if (!f->rt->speculations[i].active) {
			f->rt->speculations[i].active = true;
			return number(i + 1, result);
		}
	}
	f->rt->speculation_none++;
	return number(0, result);
}

FUNCTION(alloca)
{
	UNUSED;
	result->i = rs_lang_memory_alloca(f, args[0].i);
	return !f->fault;
}

FUNCTION(bcopy)
{
	const char *from = rs_lang_memory_at(f, args[0].i, args[2].i, false);
	char *to = from ? rs_lang_memory_at(f, args[1].i, args[2].i, true) : NULL;

	UNUSED;
	(void)result;
	if (to)
		memmove(to, from, args[2].i);
	return to;
}

const struct function rs_lang_functions[] = {
	{ "void *alloca(size_t bytes)", "zeroed memory that lasts for this firing", call_alloca },
	{ "string basename(string path)", "the part after the last slash", call_basename },
	{ "void bcopy(void *from, void *to, size_t bytes)",
	  "copies bytes from one address to another", call_bcopy },
	{ "string cleanpath(string path)", "the path without //, /./ and x/../", call_cleanpath },
	{ "void *copyin(uint64_t address, size_t bytes)", "a copy of guest memory",
	  rs_lang_machine_copyin },
	{ "void *copyinphys(uint64_t address, size_t bytes)",
	  "a copy of guest memory at a physical address", rs_lang_machine_copyinphys },
	{ "string copyinstr(uint64_t address [, size_t most])",
	  "a copy of a string, up to its NUL, from the guest or from a tracepoint's argument",
	  rs_lang_machine_copyinstr },
	{ "void copyinto(uint64_t address, size_t bytes, void *to)",
	  "copies guest memory to an address", rs_lang_machine_copyinto },
	{ "string copyinutf(uint64_t address, uint64_t units, int bytes)",
	  "units of guest memory as UTF-8: 1 byte is Latin-1, 2 are UTF-16, 4 are UTF-32",
	  rs_lang_machine_copyinutf },
	{ "string dirname(string path)", "the part before the last slash", call_dirname },
	{ "string func(uint64_t address)",
	  "the function of the guest at an address, or the address", rs_lang_guest_sym,
	  .guest = true },
	{ "void frame(string function, string file, int line)",
	  "a frame of an interpreter, innermost first, in place of the event's",
	  rs_lang_machine_frame },
	{ "uint64_t framevar(string name [, string function])",
	  "a variable of the event's frame, or of that function's nearest caller, by DWARF; the "
	  "address of a variable above 8 bytes",
	  rs_lang_machine_framevar, true },
	{ "int hasframevar(string name [, string function])", "1 if framevar() has a value, else 0",
	  rs_lang_machine_hasframevar },
	{ "unsigned int htonl(unsigned int x)", "the number in network byte order", call_htonl },
	{ "uint64_t htonll(uint64_t x)", "the number in network byte order", call_htonll },
	{ "uint16_t htons(uint16_t x)", "the number in network byte order", call_htons },
	{ "int index(string s, string part [, int from])",
	  "the position of the first occurrence, from 0; -1 if there is none", call_index },
	{ "string inet_ntoa(ipaddr_t *address)", "the IPv4 address at this address as text",
	  call_inet_ntoa },
	{ "string inet_ntoa6(void *address)", "the IPv6 address at this address as text",
	  call_inet_ntoa6 },
	{ "string inet_ntop(int family, void *address)",
	  "an IP address as text, by family: 2 for IPv4, 10 or 26 for IPv6", call_inet_ntop },
	{ "string json(string text, string path)",
	  "the value at a path such as a.b[2] of a JSON object", call_json },
	{ "string link_ntop(int type, void *address)",
	  "the hardware address at this address, by type: 1 for Ethernet, 32 for InfiniBand",
	  call_link_ntop },
	{ "string lltostr(int64_t x [, int base])", "the number as text", call_lltostr },
	{ "string mod(uint64_t address)",
	  "the guest's program at an address, or kernel; else the address", rs_lang_guest_mod,
	  .guest = true },
	{ "void noframe(string why)", "marks the event's frame as one that the walker failed on",
	  rs_lang_machine_noframe },
	{ "unsigned int ntohl(unsigned int x)", "the number in host byte order", call_htonl },
	{ "uint64_t ntohll(uint64_t x)", "the number in host byte order", call_htonll },
	{ "uint16_t ntohs(uint16_t x)", "the number in host byte order", call_htons },
	{ "int rand(void)", "a pseudo-random number; the sequence is the same in each run",
	  call_rand },
	{ "uint64_t reg(string name)", "a register of the guest, such as \"rip\" or \"cr3\"",
	  rs_lang_machine_reg, true },
	{ "int rindex(string s, string part [, int from])",
	  "the position of the last occurrence, from 0; -1 if there is none", call_rindex },
	{ "int speculation(void)", "the number of a new speculation; 0 if none is free",
	  call_speculation },
	{ "string stack([int frames])",
	  "the stack of a stopped guest's thread in the kernel, for %k and keys",
	  rs_lang_guest_kstack, .guest = true },
	{ "string strchr(string s, char c)", "the part from the first c on; \"\" if there is none",
	  call_strchr },
	{ "string strjoin(string a, string b)", "the concatenation of both", call_strjoin },
	{ "int strlen(string s)", "the number of bytes", call_strlen },
	{ "string strrchr(string s, char c)", "the part from the last c on; \"\" if there is none",
	  call_strrchr },
	{ "string strstr(string s, string part)",
	  "s from the first occurrence of part on; \"\" if there is none", call_strstr },
	{ "string strtok(string s, string separators)", "the first word of s", call_strtok },
	{ "string strtok_next(string separators)", "strtok(NULL, separators): the next word",
	  call_strtok_next },
	{ "int64_t strtoll(string s [, int base])", "the number at the start of the text",
	  call_strtoll },
	{ "string substr(string s, int from [, int len])",
	  "a part of s; a negative from counts from the end", call_substr },
	{ "string sym(uint64_t address)", "the same as func()", rs_lang_guest_sym, .guest = true },
	{ "uint64_t symbol(string name)", "the address of a variable of the event's program",
	  rs_lang_machine_symbol, true },
	{ "string tolower(string s)", "s in lower case", call_tolower },
	{ "string toupper(string s)", "s in upper case", call_toupper },
	{ "string uaddr(uint64_t address)", "the same with the offset in the function",
	  rs_lang_guest_place, .guest = true },
	{ "string ufunc(uint64_t address)", "the same as func()", rs_lang_guest_sym,
	  .guest = true },
	{ "string umod(uint64_t address)", "the same as mod()", rs_lang_guest_mod, .guest = true },
	{ "string ustack([int frames, int bytes])", "the same in user mode", rs_lang_guest_ustack,
	  .guest = true },
	{ "uint64_t uregs(int number)", "a register of the guest, as in uregs[R_RAX]",
	  rs_lang_machine_uregs, true },
	{ "string usym(uint64_t address)", "the same as func()", rs_lang_guest_sym, .guest = true },
};
const uint32_t rs_lang_n_functions = sizeof(rs_lang_functions) / sizeof(rs_lang_functions[0]);
