/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that logs, for `ringside run --guest-log`: lines and events that can be checked
 * individually, also from a handler in the middle of another line, and when the guest ends in the
 * middle of one.
 */
#include <ringside/guest_log.h>
#include <ringside/kit.h>

RS_TRACE_CLASS(number, 0)
RS_DEFINE_EVENT(number, number, "number", (u64, n), (u64, not_n));

#define LINES		  13u
#define LINE_CYCLES	  6000000u /* from line to line, of forever() */
#define VECTOR_PAGE_FAULT 14u
#define PAGE_BYTES	  4096u
#define PTE_PRESENT	  UINT64_C(0x01)
#define PTE_ADDRESS	  UINT64_C(0x000ffffffffff000)

/* "n filler sum", of a length that depends on n. */
static void line(uint32_t n)
{
	uint32_t width = n * 13 % 150;

	RS_EMIT(number, .n = n, .not_n = ~(uint64_t)n);
	RS_LOG(INFO, "%u %0*u %08x", n, (int)width, n, n * 2654435761u ^ width);
}

/* Reports the number of complete lines to the host. */
static void report(uint32_t n)
{
	char text[24] = { 0 };
	uint32_t at = sizeof(text) - 1;

	text[--at] = '\n';
	do {
		text[--at] = (char)('0' + n % 10);
	} while (n /= 10);
	rs_kit_print(text + at);
}

static uint64_t lines(const struct rs_kit_args *args)
{
	for (uint32_t n = 0; n < args->v[0]; n++)
		line(n);
	return args->v[0];
}
RS_KIT_EXPORT(lines, 1, "this many lines");

static uint64_t few(const struct rs_kit_args *args)
{
	RS_LOG(INFO, "vCPU %u runs", args->vcpu);
	RS_LOG(DEBUG, "and more at a finer level");
	return args->n;
}
RS_KIT_EXPORT_AS("main", few, 0, "a line on each vCPU");

/* Until it is killed; reports its progress at intervals. A log of the usual size keeps 3,800 lines,
 * which take several seconds. */
static uint64_t forever(const struct rs_kit_args *args)
{
	for (uint32_t n = 0;; n++) {
		uint64_t from = rs_tsc();

		line(n);
		if (n % 64 == 0)
			report(n + 1);
		while (rs_tsc() - from < LINE_CYCLES)
			;
		if (n == UINT32_MAX)
			return args->n;
	}
}
RS_KIT_EXPORT(forever, 0, "lines, until it is killed");

static uint64_t triple_fault(const struct rs_kit_args *args)
{
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none = { 0, 0 };

	for (uint32_t n = 0; n < LINES; n++)
		line(n);
	__asm__ volatile("lidt %0\n\tud2" : : "m"(none));
	return args->n;
}
RS_KIT_EXPORT(triple_fault, 0, "thirteen lines, and a triple fault");

static uint64_t panics(const struct rs_kit_args *args)
{
	for (uint32_t n = 0; n < LINES; n++)
		line(n);
	rs_kit_panic("out of patience");
	return args->n;
}
RS_KIT_EXPORT(panics, 0, "thirteen lines, and a panic");

/* ---- a handler in the middle of a line ------------------------------------------------------ */

static char text_page[PAGE_BYTES] __attribute__((aligned(4096))) =
	"        a text that was not there";

/*
 * The entry for page 0, for which the host maps no memory, in a table of small pages. SDM vol. 3,
 * chapter 4.
 */
static volatile uint64_t *page_0_entry(void)
{
	volatile uint64_t *table;
	uint64_t at;

	__asm__("movq %%cr3, %0" : "=r"(at));
	for (int level = 4; level > 1; level--) {
		table = (volatile uint64_t *)(uintptr_t)(at & PTE_ADDRESS);
		at = table[0];
	}
	return (volatile uint64_t *)(uintptr_t)(at & PTE_ADDRESS);
}

static void page_0_set(uint64_t entry)
{
	*page_0_entry() = entry;
	__asm__ volatile("invlpg (%0)" : : "r"(UINT64_C(0)) : "memory");
}

static uint32_t handled;

static bool on_page_fault(struct rs_kit_frame *frame)
{
	RS_LOG(WARNING, "handler %u", handled++);
	page_0_set((uintptr_t)text_page | PTE_PRESENT);
	return frame->vector == VECTOR_PAGE_FAULT;
}

/*
 * Lines that are interrupted, after they have their number, by a page fault, whose handler also
 * logs, so that the later number is put first. Returns the number of faults.
 */
static uint64_t interrupted(const struct rs_kit_args *args)
{
	const char *text = (const char *)sizeof(uint64_t); /* in page 0, but not a null pointer */

	__asm__("" : "+r"(text));
	rs_kit_on_exception(VECTOR_PAGE_FAULT, on_page_fault);
	for (uint32_t n = 0; n < LINES; n++) {
		RS_LOG(INFO, "line %u: %s", n, text);
		page_0_set(0);
	}
	rs_kit_on_exception(VECTOR_PAGE_FAULT, NULL);
	return handled + 0 * args->n;
}
RS_KIT_EXPORT(interrupted, 0, "a handler that logs in the middle of lines; how often it did");
