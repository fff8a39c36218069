/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emits events: spans, user-defined events, catalogue events. trace.h (for programs, VMMs and
 * hypervisors) and guest.h (for freestanding guests) share it, and define where the current
 * producer and the class mask are. Include one of those, not this file.
 *
 *	RS_TRACE_CLASS(io, 0)
 *	RS_DEFINE_EVENT(disk_read, io, "disk-read", (u64, sector), (u32, bytes));
 *
 *	int crunch(int n)
 *	{
 *		RS_FUNCTION();				// span "crunch", ends on every return
 *		RS_SPAN(io, "read ahead");		// ends with the enclosing block
 *		RS_EMIT(disk_read, .sector = 7, .bytes = 512);
 *		...
 *
 * A record carries ids. Each text exists once, in a site in the section rs_sites, and gets its
 * number when the program starts, so tracing does not format, copy or look up texts.
 *
 * Cost: a disabled class takes one load and one branch; with RS_TRACE_OFF defined, nothing is
 * compiled in. A record takes a stamp, a claim on the ring, and its stores, without a lock or a
 * call.
 */
#ifndef RINGSIDE_EMIT_H
#define RINGSIDE_EMIT_H

#include <ringside/language.h>
#include <ringside/record.h>

RS_C_BEGIN

#if !defined(RS_THIS_PRODUCER) || !defined(RS_THIS_MASK)
#error "include ringside/trace.h or ringside/guest.h"
#endif

/* ---- classes ------------------------------------------------------------------------------ */

/* The classes of Ringside's own events. RS_TRACE_CLASS() defines up to 16 more for the program. */
enum {
	RS_CLASS_span = 1 << 0,	 /* RS_SPAN(span, ...) */
	RS_CLASS_func = 1 << 1,	 /* RS_FUNCTION() */
	RS_CLASS_vm = 1 << 2,	 /* creation, memory, load */
	RS_CLASS_vcpu = 1 << 3,	 /* entry, exit */
	RS_CLASS_call = 1 << 4,	 /* calls between host and guest */
	RS_CLASS_boot = 1 << 5,	 /* entry, descriptor tables, halt */
	RS_CLASS_irq = 1 << 6,	 /* interrupts, exceptions */
	RS_CLASS_log = 1 << 7,	 /* messages */
	RS_CLASS_mem = 1 << 8,	 /* memory.h: allocations */
	RS_CLASS_stack = 1 << 9, /* memory.h: call stacks */
};
#define RS_CLASS_USER(n) (UINT32_C(1) << (16 + (n))) /* n: 0 to 15 */
#define RS_CLASS_ALL	 UINT32_C(0xffffffff)

/* Names the program's n-th own class. */
#define RS_TRACE_CLASS(name, n) enum { RS_CLASS_##name = (int)RS_CLASS_USER(n) };

#define RS_CLASS_ON(class) (__builtin_expect((RS_THIS_MASK & (uint32_t)RS_CLASS_##class) != 0, 1))

/* ---- sites -------------------------------------------------------------------------------- */

enum rs_site_kind {
	RS_SITE_NAME = 1,  /* text is a name */
	RS_SITE_EVENT = 2, /* text is an event's declaration; see rs_schema_declare() */
	RS_SITE_SPAN = 3,  /* text is the name of a span that has an argument */
};

/* The layout is shared with the host, which reads a guest's table: see guest_abi.h. */
struct rs_site {
	const char *text;
	uint32_t len;
	uint32_t kind;
	uint32_t id; /* rs_site_id(), assigned at start; 0 before */
	/* For the emitter, which may keep the upper half of its records' header word here and load
	 * both words in one access. Readers ignore it. */
	uint32_t reserved;
};
RS_STATIC_ASSERT(sizeof(struct rs_site) == 24, "sites are an array");

/* Returns the id of the n-th site, counted from 1. The id of an event's site is the complete record
 * id. */
static inline uint32_t rs_site_id(uint32_t kind, uint32_t n)
{
	return kind == RS_SITE_EVENT ? (uint32_t)RS_ID(RS_IDS_USER, n) : n;
}

#define RS_SITE(variable, site_kind, string)                                                       \
	static struct rs_site variable __attribute__((section("rs_sites"), used, aligned(8))) = {  \
		.text = (string),                                                                  \
		.len = sizeof(string) - 1,                                                         \
		.kind = (site_kind),                                                               \
		.id = 0,                                                                           \
		.reserved = 0,                                                                     \
	}

/* ---- records ------------------------------------------------------------------------------ */

/* Puts one record of this thread or vCPU: rs_record_put(). */
static inline __attribute__((always_inline)) bool rs_emit(uint64_t id, const void *payload,
							  uint32_t bytes)
{
	return rs_record_put(RS_THIS_PRODUCER(), id, payload, bytes);
}

/* ---- spans -------------------------------------------------------------------------------- */

/* An open span. The name is 0 if its class was off at the start; its end then emits nothing. */
struct rs_span_scope {
	uint32_t name;
};

/* Puts a struct rs_span as two words. From its members gcc makes a vector, which costs more, and in
 * C not the same as in C++. */
static inline __attribute__((always_inline)) void rs_span_put(uint64_t id, uint32_t name,
							      uint32_t depth, uint64_t arg)
{
	const uint64_t words[2] = { (uint64_t)depth << 32 | name, arg };

	RS_STATIC_ASSERT(sizeof(words) == sizeof(struct rs_span) &&
				 offsetof(struct rs_span, depth) == 4 &&
				 offsetof(struct rs_span, arg) == 8,
			 "little endian");
	rs_emit(id, words, sizeof(words));
}

static inline __attribute__((always_inline)) void rs_span_begin(uint32_t name, uint64_t arg)
{
	uint32_t depth = RS_THIS_PRODUCER()->depth++;

	rs_span_put(RS_ID_SPAN_BEGIN, name, depth, arg);
}

static inline __attribute__((always_inline)) void rs_span_end(uint32_t name, uint64_t arg)
{
	uint32_t depth = --RS_THIS_PRODUCER()->depth;

	rs_span_put(RS_ID_SPAN_END, name, depth, arg);
}

static inline __attribute__((always_inline)) void rs_span_scope_end(struct rs_span_scope *scope)
{
	if (scope->name)
		rs_span_end(scope->name, 0);
}

#define RS_PASTE2(a, b) a##b
#define RS_PASTE(a, b)	RS_PASTE2(a, b)

/* ---- user-defined events ------------------------------------------------------------------ */

typedef uint8_t rs_c_u8;
typedef uint16_t rs_c_u16;
typedef uint32_t rs_c_u32;
typedef uint64_t rs_c_u64;
typedef int8_t rs_c_s8;
typedef int16_t rs_c_s16;
typedef int32_t rs_c_s32;
typedef int64_t rs_c_s64;
typedef uint8_t rs_c_x8;
typedef uint16_t rs_c_x16;
typedef uint32_t rs_c_x32;
typedef uint64_t rs_c_x64;
typedef uint32_t rs_c_name;

/* Converts (type, name) to a member of the payload, and to its part of the declaration. */
#define RS_MEMBER_(type, name) rs_c_##type name;
#define RS_MEMBER(pair)	       RS_MEMBER_ pair
#define RS_WORDS_(type, name)  #type " " #name
#define RS_WORDS(pair)	       RS_WORDS_ pair
#define RS_COMMA_WORDS(pair)   "," RS_WORDS(pair)

/* clang-format off */
#define RS_EACH0(f, g)
#define RS_EACH1(f, g, a)	 f(a)
#define RS_EACH2(f, g, a, ...) f(a) RS_EACH1(g, g, __VA_ARGS__)
#define RS_EACH3(f, g, a, ...) f(a) RS_EACH2(g, g, __VA_ARGS__)
#define RS_EACH4(f, g, a, ...) f(a) RS_EACH3(g, g, __VA_ARGS__)
#define RS_EACH5(f, g, a, ...) f(a) RS_EACH4(g, g, __VA_ARGS__)
#define RS_EACH6(f, g, a, ...) f(a) RS_EACH5(g, g, __VA_ARGS__)
#define RS_EACH7(f, g, a, ...) f(a) RS_EACH6(g, g, __VA_ARGS__)
#define RS_EACH8(f, g, a, ...) f(a) RS_EACH7(g, g, __VA_ARGS__)
#define RS_NINTH(x, a, b, c, d, e, f, g, h, count, ...) count
#define RS_COUNT(...) RS_NINTH(x, ##__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
/* clang-format on */
/* Applies f to the first pair and g to the others. */
#define RS_EACH(f, g, ...) RS_PASTE(RS_EACH, RS_COUNT(__VA_ARGS__))(f, g, ##__VA_ARGS__)

/*
 * Defines an event of the program at file scope: symbol, class, name, and up to 8 fields as (type,
 * name), with the types of rs_schema_declare() except text. RS_EMIT(symbol, .field = value, ...)
 * emits it; fields that it does not name are 0.
 */
#define RS_DEFINE_EVENT(symbol, class, event_name, ...)                                            \
	struct rs_payload_##symbol {                                                               \
		RS_EACH(RS_MEMBER, RS_MEMBER, ##__VA_ARGS__)                                       \
	} __attribute__((packed));                                                                 \
	enum { rs_class_of_##symbol = (int)RS_CLASS_##class };                                     \
	RS_SITE(rs_site_of_##symbol, RS_SITE_EVENT,                                                \
		#class "::" event_name "(" RS_EACH(RS_WORDS, RS_COMMA_WORDS, ##__VA_ARGS__) ")")

#ifndef RS_TRACE_OFF

#define RS_EMIT(symbol, ...)                                                                       \
	do {                                                                                       \
		if (__builtin_expect((RS_THIS_MASK & (uint32_t)rs_class_of_##symbol) != 0, 1)) {   \
			const struct rs_payload_##symbol rs_payload_ = { __VA_ARGS__ };            \
			rs_emit(rs_site_of_##symbol.id, &rs_payload_, sizeof(rs_payload_));        \
		}                                                                                  \
	} while (0)

/*
 * Makes a jump past a span a compile error in C, as it is in C++: a goto or case label behind the
 * span, in its block, would end a span that never began. C forbids jumps into the scope of a
 * variably modified type (C17 6.8.6.1); the pointer itself costs nothing.
 */
#ifdef __cplusplus
#define RS_SPAN_GUARD(guard, bound)
#else
#define RS_SPAN_GUARD(guard, bound)                                                                \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wvla\"")                 \
		__attribute__((unused)) char(*guard)[(bound) + 1u];                                \
	_Pragma("GCC diagnostic pop")
#endif

/*
 * RS_SPAN_SITE defines the site of a span in the section of sites; RS_SPAN_ID returns its id, which
 * the caller tests. In C++ a span may be in an inline function or a template. Some compilers refuse
 * to put the variables of these into the section; others ignore the request. So the assembler
 * writes the site, and RS_SPAN_ID does both; each copy of an inlined span has a site of its own.
 * The load clears the upper half of rs_id_; compilers cannot detect that in assembler code, and
 * would clear it again.
 */
#ifdef __cplusplus
RS_STATIC_ASSERT(offsetof(struct rs_site, id) == 16, "the words below");
#define RS_SPAN_SITE(variable, kind, string) ((void)0)
#define RS_SPAN_ID(variable, kind, string)                                                         \
	__extension__({                                                                            \
		uint64_t rs_id_;                                                                   \
		__asm__ volatile(".pushsection rs_sites,\"aw\",%%progbits\n\t"                     \
				 ".balign 8\n"                                                     \
				 "991:\t.quad %c1\n\t"                                             \
				 ".long %c2, %c3, 0, 0\n\t"                                        \
				 ".popsection\n\t" RS_ARCH_LOAD_WORD("991b+16", "0")              \
				 : "=r"(rs_id_)                                                    \
				 : "i"((const char *)(string)), "i"(sizeof(string) - 1),           \
				   "i"(kind));                                                     \
		if (rs_id_ >> 32)                                                                  \
			__builtin_unreachable();                                                   \
		(uint32_t)rs_id_;                                                                  \
	})
#else
#define RS_SPAN_SITE(variable, kind, string) RS_SITE(variable, kind, string)
#define RS_SPAN_ID(variable, kind, string)   variable.id
#endif

#define RS_SPAN_OPEN_(kind, class, string, value)                                                  \
	RS_SPAN_SITE(RS_PASTE(rs_span_site_, __LINE__), kind, string);                             \
	struct rs_span_scope RS_PASTE(rs_span_scope_, __LINE__)                                    \
		__attribute__((cleanup(rs_span_scope_end), unused)) = {                            \
			RS_CLASS_ON(class)                                                         \
				? RS_SPAN_ID(RS_PASTE(rs_span_site_, __LINE__), kind, string)      \
				: 0                                                                \
		};                                                                                 \
	RS_SPAN_GUARD(RS_PASTE(rs_span_guard_, __LINE__), RS_PASTE(rs_span_scope_, __LINE__).name) \
	if (RS_PASTE(rs_span_scope_, __LINE__).name)                                               \
	rs_span_begin(RS_PASTE(rs_span_scope_, __LINE__).name, (value))

#else

#define RS_EMIT(symbol, ...)			  ((void)0)
#define RS_SPAN_OPEN_(kind, class, string, value) ((void)0)

#endif

/* Opens a span, which ends when control leaves the enclosing block in any way. */
#define RS_SPAN(class, string) RS_SPAN_OPEN_(RS_SITE_NAME, class, string, 0)

/* Opens a span with an argument of 64 bits. Readers show the argument even if it is 0. */
#define RS_SPAN_ARG(class, string, value) RS_SPAN_OPEN_(RS_SITE_SPAN, class, string, value)

/* Opens a span with the function's name, which ends on every return. Place it first in the
 * function. */
#define RS_FUNCTION() RS_SPAN(func, __func__)

/* ---- catalogue events --------------------------------------------------------------------- */

/*
 * Payloads and ids of a provider's catalogue file, for RS_EMIT_EVENT(); see vmm.h. Events that end
 * in a text use RS_EMIT_EVENT_TEXT().
 */
#ifndef RS_TRACE_OFF

#define RS_EVENT_ON(symbol)                                                                        \
	(__builtin_expect((RS_THIS_MASK & (uint32_t)RS_EVENT_CLASS_##symbol) != 0, 1))

#define RS_EMIT_EVENT(symbol, ...)                                                                 \
	do {                                                                                       \
		if (RS_EVENT_ON(symbol)) {                                                         \
			const struct rs_event_##symbol rs_payload_ = { __VA_ARGS__ };              \
			rs_emit(RS_EVENT_##symbol, &rs_payload_, sizeof(rs_payload_));             \
		}                                                                                  \
	} while (0)

#define RS_EMIT_EVENT_TEXT(symbol, text, len, ...)                                                 \
	do {                                                                                       \
		if (RS_EVENT_ON(symbol)) {                                                         \
			const struct rs_event_##symbol rs_payload_ = { __VA_ARGS__ };              \
			rs_emit_text(RS_THIS_PRODUCER(), RS_EVENT_##symbol, &rs_payload_,          \
				     sizeof(rs_payload_), (text), (len));                          \
		}                                                                                  \
	} while (0)

#else

#define RS_EMIT_EVENT(symbol, ...)		   ((void)0)
#define RS_EMIT_EVENT_TEXT(symbol, text, len, ...) ((void)0)

#endif

RS_C_END

#endif
