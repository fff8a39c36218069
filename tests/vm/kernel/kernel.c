/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel for the tests of guests under other VMMs: 64-bit, in the upper half of addresses, three
 * processors, each with its own data by %gs, and a timer whose handler traces, also in the middle
 * of a put. Of Ringside, it uses only guest.h.
 *
 * The command line has numbers by name:
 *	units=N		spans of each processor in a round, with an event in each
 *	ticks=N		interrupts of each processor's timer in a round, at most
 *	rounds=N	number of rounds; a round begins when a byte arrives on the serial port
 *	ring=N		bytes of each ring
 *	high=1		rings at 4 GiB
 *	reboot=N	number of boots; between two, it waits for a byte
 *	cpus=N		number of processors; by default 3
 *	alone=1		it waits for no byte; at the end it resets the machine by the keyboard's
 *			controller
 *	sleep=1		in a span the processor halts until the timer's interrupt, while there are
 *			ticks
 *	pace=N		at least N cycles between the beginnings of two units
 *	keep=1		full rings drop their oldest records
 *	doorbell=1	full rings ask the host
 *	silent=1	it does not trace, and ends immediately; with alone=1
 *	ivshmem=1	it moves itself, with its area and rings, to the shared memory of an ivshmem
 *			device
 *
 * After each round it prints the numbers of each processor's emitted and refused records.
 */
#include <stdbool.h>
#include <stdint.h>

/* The kernel's own data of a processor, at %gs:0. */
struct processor {
	struct processor *self;
	struct rs_sbuf_producer *producer;
	uint32_t number;
	volatile uint32_t ticks, ticks_left;
	uint64_t units;
};

static inline struct processor *this_processor(void)
{
	struct processor *p;

	__asm__ volatile("movq %%gs:0, %0" : "=r"(p));
	return p;
}

#define RS_GUEST_THIS() (this_processor()->producer)
#include <ringside/guest.h>

#define KERNEL_BASE UINT64_C(0xffffffff80000000)
#define PROCESSORS  3u
#define RING_MAX    (4u << 20)
#define HIGH	    (UINT64_C(4) << 30)
#define COM1	    0x3f8
#define VECTOR	    0x20

/* The PCI bus (PCI Local Bus 3.0, 3.2.2.3.2 and 6.2), and QEMU's docs/specs/ivshmem-spec. */
#define PCI_ADDRESS	0xcf8
#define PCI_DATA	0xcfc
#define PCI_DEVICES	32u
#define PCI_BAR2	0x18
#define IVSHMEM		0x11101af4u
#define PAGES_2M	512u
#define PAGE_2M		UINT64_C(0x200000)
#define PAGE_2M_BITS	0x83u /* present, writable, large */
#define PAGE_TABLE_BITS 3u
#define SHARED_AT	UINT64_C(0xffffffffc0000000) /* entry 511 of table_high */

#define MSR_APIC_BASE 0x1b
#define MSR_GS_BASE   0xc0000101
#define APIC	      UINT64_C(0xfee00000) /* SDM vol. 3, chapter 11 */
#define APIC_EOI      0x0b0
#define APIC_SPURIOUS 0x0f0
#define APIC_ICR_LOW  0x300
#define APIC_TIMER    0x320
#define APIC_INITIAL  0x380
#define APIC_DIVIDE   0x3e0
#define TIMER_COUNT   50000u /* of the APIC's bus clock */
#define TIMER_OFF     (1u << 16)
#define TIMER_ON      (VECTOR | 1u << 17) /* periodic */

RS_TRACE_CLASS(work, 0)
RS_TRACE_CLASS(interrupt, 1)
RS_DEFINE_EVENT(unit, work, "unit", (u32, cpu), (u64, number));
RS_DEFINE_EVENT(tick, interrupt, "tick", (u32, cpu), (u32, number));

static enum rs_guest_hand_over hand_over = RS_GUEST_SHARED;
static struct processor processors[PROCESSORS];
static uint8_t rings[PROCESSORS][RING_MAX] __attribute__((aligned(64)));
static volatile uint32_t round_now, ready, finished;
static uint32_t n_processors;
static bool is_alone;
static uint64_t physical; /* address at KERNEL_BASE */
static struct {
	uint64_t low, high;
} idt[256] __attribute__((aligned(16)));

extern void timer_entry(void);
extern uint64_t table_high[], table_shared[]; /* boot.S */
extern uint8_t kernel_end[];
void kernel_main(uint32_t number, uint64_t start_info);

/* ---- the machine -------------------------------------------------------------------------- */

static void outb(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static uint8_t inb(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static void wrmsr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

static volatile uint32_t *apic(uint32_t offset)
{
	return (volatile uint32_t *)(uintptr_t)(APIC + offset);
}

static void print(const char *text)
{
	for (; *text; text++) {
		while (!(inb(COM1 + 5) & 0x20))
			;
		outb(COM1, (uint8_t)*text);
	}
}

static void print_number(const char *name, uint64_t value)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	print(name);
	print(at);
}

static void wait_for_byte(void)
{
	if (is_alone)
		return;
	while (!(inb(COM1 + 5) & 1))
		__asm__ volatile("pause");
	inb(COM1);
}

/* Returns the number after "name=" in the command line. */
static uint64_t option(const char *line, const char *name, uint64_t otherwise)
{
	for (; line && *line; line++) {
		const char *at = line, *want = name;

		while (*want && *at == *want)
			at++, want++;
		if (*want || *at++ != '=')
			continue;
		otherwise = 0;
		for (; *at >= '0' && *at <= '9'; at++)
			otherwise = otherwise * 10 + (uint64_t)(*at - '0');
	}
	return otherwise;
}

/* ---- ivshmem ------------------------------------------------------------------------------ */

static uint32_t pci_read(uint32_t device, uint32_t offset)
{
	uint32_t value;

	__asm__ volatile("outl %0, %1"
			 :
			 : "a"(0x80000000u | device << 11 | offset), "Nd"((uint16_t)PCI_ADDRESS));
	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"((uint16_t)PCI_DATA));
	return value;
}

/* Returns the address of the device's shared memory, its 64-bit BAR 2, or 0. */
static uint64_t ivshmem_find(void)
{
	for (uint32_t i = 0; i < PCI_DEVICES; i++) {
		if (pci_read(i, 0) == IVSHMEM)
			return (pci_read(i, PCI_BAR2) & ~UINT64_C(15)) |
			       (uint64_t)pci_read(i, PCI_BAR2 + 4) << 32;
	}
	return 0;
}

/* Copies the kernel to the shared memory, and maps that where the kernel is. The stack is copied,
 * too, so nothing is written to memory from then on until the page tables are switched. */
static void ivshmem_move(void)
{
	uint64_t to = SHARED_AT, from = KERNEL_BASE, words, cr3;

	physical = ivshmem_find();
	if (!physical) {
		print("no ivshmem\n");
		return;
	}
	for (uint64_t i = 0; i < PAGES_2M; i++)
		table_shared[i] = (physical + i * PAGE_2M) | PAGE_2M_BITS;
	table_high[511] = (uintptr_t)table_shared | PAGE_TABLE_BITS;
	words = ((uintptr_t)kernel_end - KERNEL_BASE) / sizeof(uint64_t) + 1;
	__asm__ volatile("mov %%cr3, %0" : "=r"(cr3));
	__asm__ volatile("rep movsq\n\t"
			 "movq %4, %3\n\t"
			 "mov %5, %%cr3"
			 : "+D"(to), "+S"(from), "+c"(words), "=m"(table_high[510])
			 : "r"(table_high[511]), "r"(cr3)
			 : "memory");
}

/* ---- interrupts --------------------------------------------------------------------------- */

void timer_interrupt(void);
void timer_interrupt(void)
{
	struct processor *p = this_processor();

	rs_guest_handler_enter(p->number);
	if (p->ticks_left) {
		p->ticks_left--;
		p->ticks++;
		RS_EMIT(tick, .cpu = p->number, .number = p->ticks);
	}
	if (!p->ticks_left)
		*apic(APIC_TIMER) = TIMER_OFF;
	*apic(APIC_EOI) = 0;
}

static void interrupts_init(void)
{
	const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) pointer = { sizeof(idt) - 1, (uintptr_t)idt };
	uint64_t at = (uintptr_t)timer_entry;

	idt[VECTOR].low = (at & 0xffff) | UINT64_C(8) << 16 | UINT64_C(0x8e00) << 32 |
			  (at >> 16 & 0xffff) << 48;
	idt[VECTOR].high = at >> 32;
	__asm__ volatile("lidt %0" : : "m"(pointer));
	outb(0x21, 0xff); /* no interrupts of the 8259s */
	outb(0xa1, 0xff);
	*apic(APIC_SPURIOUS) = 0x1ff;
	*apic(APIC_DIVIDE) = 0xb;
}

/* ---- work --------------------------------------------------------------------------------- */

static void do_round(struct processor *p, const char *line)
{
	uint64_t units = option(line, "units", 1009);
	uint64_t pace = option(line, "pace", 0), from = rs_tsc();
	bool sleeps = option(line, "sleep", 0);

	p->ticks_left = (uint32_t)option(line, "ticks", 101);
	*apic(APIC_TIMER) = TIMER_ON;
	*apic(APIC_INITIAL) = TIMER_COUNT;
	__asm__ volatile("sti");
	for (uint64_t i = 0; i < units; i++) {
		RS_SPAN(work, "do_unit");

		RS_EMIT(unit, .cpu = p->number, .number = p->units++);
		if (sleeps && p->ticks_left)
			__asm__ volatile("hlt");
		while (rs_tsc() - from < (i + 1) * pace)
			__asm__ volatile("pause");
	}
	/* Interrupts also arrive without work. */
	while (p->ticks_left)
		__asm__ volatile("pause");
	__asm__ volatile("cli");
}

static void report(void)
{
	for (uint32_t i = 0; i < n_processors; i++) {
		print_number("cpu ", i);
		print_number(" units ", processors[i].units);
		print_number(" ticks ", processors[i].ticks);
		print_number(" refused ", processors[i].producer->refused);
		print("\n");
	}
}

static void lead(const char *line)
{
	uint64_t rounds = option(line, "rounds", 1);

	while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < n_processors - 1)
		__asm__ volatile("pause");
	print("ready\n");
	for (uint64_t i = 1; i <= rounds; i++) {
		wait_for_byte();
		__atomic_store_n(&round_now, i, __ATOMIC_RELEASE);
		do_round(&processors[0], line);
		while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < i * (n_processors - 1))
			__asm__ volatile("pause");
		report();
		print_number("round ", i);
		print("\n");
	}
	wait_for_byte();
	if (option(line, "reboot", 0) || is_alone) {
		print("again\n");
		outb(0x64, 0xfe); /* the keyboard controller's reset */
	}
	for (;;)
		__asm__ volatile("cli; hlt");
}

static void follow(struct processor *p, const char *line)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
	for (uint32_t round = 1;; round++) {
		while (__atomic_load_n(&round_now, __ATOMIC_ACQUIRE) < round)
			__asm__ volatile("pause");
		do_round(p, line);
		__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	}
}

static void options_read(const char *line)
{
	n_processors = (uint32_t)option(line, "cpus", PROCESSORS);
	is_alone = option(line, "alone", 0);
	if (option(line, "keep", 0))
		hand_over = RS_GUEST_KEEP;
	if (option(line, "doorbell", 0))
		hand_over = RS_GUEST_DOORBELL;
	if (option(line, "silent", 0))
		outb(0x64, 0xfe);
	if (option(line, "ivshmem", 0))
		ivshmem_move();
}

/* Each processor enters here with its number; the first one starts the others. */
void kernel_main(uint32_t number, uint64_t start_info)
{
	/* PVH's struct hvm_start_info: the command line's address is its fifth member. */
	const char *line = (const char *)*(uint64_t *)(start_info + 24);
	struct processor *p = &processors[number];
	uint64_t bytes = option(line, "ring", RING_MAX);
	void *ring = rings[number];

	if (!number)
		options_read(line);
	if (option(line, "high", 0))
		ring = (void *)(uintptr_t)(HIGH + KERNEL_BASE + (uint64_t)number * RING_MAX);
	*p = (struct processor){ .self = p,
				 .producer = rs_guest_producer(number),
				 .number = number };
	wrmsr(MSR_GS_BASE, (uintptr_t)p);
	if (!number)
		rs_guest_init(&(struct rs_guest_config){ .hand_over = hand_over,
							 .to_gpa = physical - KERNEL_BASE,
							 .own_this = true });
	if (rs_guest_vcpu_init(number, ring, bytes) != RS_GUEST_OK)
		print("no ring\n");
	interrupts_init();
	if (number) {
		follow(p, line);
		return;
	}
	if (n_processors > 1) {
		*apic(APIC_ICR_LOW) = 0x000c4500; /* INIT to all others */
		for (volatile uint32_t i = 0; i < 100000; i++)
			;
		*apic(APIC_ICR_LOW) = 0x000c4608; /* SIPI, at 0x8000 */
	}
	lead(line);
}
