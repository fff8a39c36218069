/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A VMM on /dev/kvm for a 64-bit kernel (tests/vm/kernel): PVH's entry, three vCPUs with KVM's
 * interrupt controllers, a serial port. It is written from ringside_host(3) and
 * ringside_recorder(3), for both hand-overs:
 *
 *	machine doorbell|shared KERNEL TRACE "COMMAND LINE"
 *	machine apart KERNEL - "COMMAND LINE"
 *
 * The guest ends by a reset, through port 0x64. Each vCPU has a thread.
 *
 * With `apart` the VMM is not involved in the guest's trace (tests/vm/guest_memory.test): it passes
 * bytes of standard input to the serial port, and maps the guest's RAM in pieces, in an order and
 * at distances that differ from their addresses. At the first byte it copies all RAM into its own
 * memory, as VMMs do for a snapshot.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ringside/recorder.h>
#include <ringside/vmm.h>

#define VCPUS	    3
#define MIB	    (UINT64_C(1) << 20)
#define RAM_BYTES   (64 * MIB)
#define START_INFO  UINT64_C(0x1000)
#define LINE	    UINT64_C(0x2000)
#define KERNEL_BASE UINT64_C(0xffffffff80000000) /* kernel.ld: virtual minus physical addresses */
#define CPUIDS	    100
#define COM1	    0x3f8
#define RESET	    0x64

/* RAM, by its addresses. A piece's place is from the beginning of the VMM's memory. */
struct piece {
	uint64_t gpa, bytes, place;
};
static const struct piece whole[] = { { 0, RAM_BYTES, 0 } };
/* The second boundary is within the kernel's rings. */
static const struct piece apart[] = {
	{ 0, MIB, 70 * MIB + 0x5000 },
	{ MIB, 4 * MIB + 0x3000, 64 * MIB + 0x1000 },
	{ 5 * MIB + 0x3000, RAM_BYTES - 5 * MIB - 0x3000, 0x7000 },
};
#define MEMORY_BYTES (80 * MIB)

static uint8_t *memory;
static const struct piece *pieces = whole;
static uint32_t n_pieces = 1;
static int dev, vm;
static bool has_doorbell, is_apart;
static volatile bool over;
static struct vcpu {
	pthread_t thread;
	int fd;
	uint32_t number;
	struct kvm_run *run;
} vcpus[VCPUS];
static struct rs_recorder *recorder;
static struct rs_host_guest *guest;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "machine: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void must(struct rs_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "machine: %s\n", rs_error_text(err));
	exit(1);
}

static int kvm(int fd, unsigned long request, void *argument, const char *what)
{
	int done = ioctl(fd, request, argument);

	need(done >= 0, what);
	return done;
}

/* ---- guest memory ------------------------------------------------------------------------- */

static bool in_ram(uint64_t gpa, uint64_t bytes)
{
	return bytes <= RAM_BYTES && gpa <= RAM_BYTES - bytes;
}

/* Returns where an address is, and in *bytes at most how many bytes are in its piece. */
static uint8_t *ram_at(uint64_t gpa, size_t *bytes)
{
	const struct piece *piece = pieces;

	while (gpa - piece->gpa >= piece->bytes)
		piece++;
	if (*bytes > piece->bytes - (gpa - piece->gpa))
		*bytes = piece->bytes - (gpa - piece->gpa);
	return memory + piece->place + (gpa - piece->gpa);
}

static bool ram_read(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	(void)ctx;
	if (!in_ram(gpa, bytes))
		return false;
	for (size_t done = 0, n = bytes; done < bytes; done += n, n = bytes - done) {
		const uint8_t *at = ram_at(gpa + done, &n);

		memcpy((uint8_t *)to + done, at, n);
	}
	return true;
}

static bool ram_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	(void)ctx;
	if (!in_ram(gpa, bytes))
		return false;
	for (size_t done = 0, n = bytes; done < bytes; done += n, n = bytes - done) {
		uint8_t *at = ram_at(gpa + done, &n);

		memcpy(at, (const uint8_t *)from + done, n);
	}
	return true;
}

/* ---- the kernel --------------------------------------------------------------------------- */

static void *file_read(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "re");
	void *text;
	long end = 0;

	need(file && !fseek(file, 0, SEEK_END) && (end = ftell(file)) > 0 &&
		     !fseek(file, 0, SEEK_SET),
	     path);
	text = malloc((size_t)end);
	need(text && fread(text, 1, (size_t)end, file) == (size_t)end, path);
	fclose(file);
	*bytes = (size_t)end;
	return text;
}

/* Returns the virtual address of a symbol of the kernel. */
static uint64_t symbol(const uint8_t *elf, const char *name)
{
	const Elf64_Ehdr *head = (const void *)elf;
	const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);

	for (unsigned i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(elf + sections[i].sh_offset);
		const char *names;

		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		names = (const char *)elf + sections[sections[i].sh_link].sh_offset;
		for (size_t n = 0; n < sections[i].sh_size / sizeof(*symbols); n++) {
			if (!strcmp(names + symbols[n].st_name, name))
				return symbols[n].st_value;
		}
	}
	fprintf(stderr, "machine: the kernel has no symbol %s\n", name);
	exit(1);
}

/* Loads the kernel. Returns its entry, and the area's guest-physical address. */
static uint64_t load(const char *path, uint64_t *area)
{
	size_t bytes;
	uint8_t *elf = file_read(path, &bytes);
	const Elf64_Ehdr *head = (const void *)elf;
	uint64_t entry = head->e_entry;

	need(bytes > sizeof(*head) && !memcmp(elf, ELFMAG, SELFMAG), path);
	for (unsigned i = 0; i < head->e_phnum; i++) {
		const Elf64_Phdr *part =
			(const Elf64_Phdr *)(const void *)(elf + head->e_phoff) + i;

		if (part->p_type != PT_LOAD)
			continue;
		need(in_ram(part->p_paddr, part->p_memsz), "the kernel is larger than RAM");
		ram_write(NULL, part->p_paddr, elf + part->p_offset, part->p_filesz);
	}
	*area = symbol(elf, "rs_guest_area") - KERNEL_BASE;
	free(elf);
	return entry;
}

/* ---- the machine -------------------------------------------------------------------------- */

/* The CPUID that KVM supports, with each vCPU's own APIC number. */
static void set_cpuid(const struct vcpu *v)
{
	struct {
		struct kvm_cpuid2 head;
		struct kvm_cpuid_entry2 entries[CPUIDS];
	} cpuid = { .head.nent = CPUIDS };

	kvm(dev, KVM_GET_SUPPORTED_CPUID, &cpuid, "KVM_GET_SUPPORTED_CPUID");
	for (uint32_t i = 0; i < cpuid.head.nent; i++) {
		if (cpuid.entries[i].function == 1)
			cpuid.entries[i].ebx = (cpuid.entries[i].ebx & 0x00ffffff) | v->number
											     << 24;
		if (cpuid.entries[i].function == 0xb)
			cpuid.entries[i].edx = v->number;
	}
	kvm(v->fd, KVM_SET_CPUID2, &cpuid, "KVM_SET_CPUID2");
}

/* PVH: 32-bit protected mode without paging, EBX has the address of struct hvm_start_info. */
static void enter_kernel(const struct vcpu *v, uint64_t entry)
{
	struct kvm_segment code = { .limit = 0xffffffff,
				    .selector = 8,
				    .type = 11,
				    .present = 1,
				    .db = 1,
				    .s = 1,
				    .g = 1 };
	struct kvm_segment data = { .limit = 0xffffffff,
				    .selector = 16,
				    .type = 3,
				    .present = 1,
				    .db = 1,
				    .s = 1,
				    .g = 1 };
	struct kvm_regs regs = { .rip = entry, .rbx = START_INFO, .rflags = 2 };
	struct kvm_sregs special;

	kvm(v->fd, KVM_GET_SREGS, &special, "KVM_GET_SREGS");
	special.cs = code;
	special.ds = special.es = special.fs = special.gs = special.ss = data;
	special.cr0 = 0x11; /* ET PE */
	kvm(v->fd, KVM_SET_SREGS, &special, "KVM_SET_SREGS");
	kvm(v->fd, KVM_SET_REGS, &regs, "KVM_SET_REGS");
}

static void create_machine(const char *line)
{
	int bytes;

	dev = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	need(dev >= 0, "/dev/kvm");
	vm = kvm(dev, KVM_CREATE_VM, NULL, "KVM_CREATE_VM");
	kvm(vm, KVM_SET_TSS_ADDR, (void *)(uintptr_t)0xfffbd000, "KVM_SET_TSS_ADDR");
	kvm(vm, KVM_CREATE_IRQCHIP, NULL, "KVM_CREATE_IRQCHIP");
	memory =
		mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(memory != MAP_FAILED, "mmap");
	for (uint32_t i = 0; i < n_pieces; i++) {
		struct kvm_userspace_memory_region region = {
			.slot = i,
			.guest_phys_addr = pieces[i].gpa,
			.memory_size = pieces[i].bytes,
			.userspace_addr = (uintptr_t)memory + pieces[i].place,
		};

		kvm(vm, KVM_SET_USER_MEMORY_REGION, &region, "KVM_SET_USER_MEMORY_REGION");
	}
	RS_EMIT_EVENT(vm_create, .vcpus = VCPUS, .memory = RAM_BYTES);
	ram_write(NULL, LINE, line, strlen(line) + 1);
	ram_write(NULL, START_INFO + 24, &(uint64_t){ LINE }, sizeof(uint64_t));
	bytes = kvm(dev, KVM_GET_VCPU_MMAP_SIZE, NULL, "KVM_GET_VCPU_MMAP_SIZE");
	for (uint32_t i = 0; i < VCPUS; i++) {
		struct vcpu *v = &vcpus[i];

		v->number = i;
		v->fd = kvm(vm, KVM_CREATE_VCPU, (void *)(uintptr_t)i, "KVM_CREATE_VCPU");
		v->run = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
		need(v->run != MAP_FAILED, "mmap");
		set_cpuid(v);
	}
}

/* ---- the guest's trace -------------------------------------------------------------------- */

static void add_guest(const struct rs_clock *clock, uint64_t area)
{
	struct rs_host_options options = {
		.vm = "machine",
		.memory = { .read = ram_read, .write = ram_write },
		.clock = clock,
		.vcpus = VCPUS,
	};

	must(rs_host_guest_create(&options, &guest));
	for (uint32_t i = 0; i < VCPUS; i++) {
		int64_t offset = 0;
		struct kvm_device_attr attr = { .group = KVM_VCPU_TSC_CTRL,
						.attr = KVM_VCPU_TSC_OFFSET,
						.addr = (uintptr_t)&offset };

		kvm(vcpus[i].fd, KVM_GET_DEVICE_ATTR, &attr, "KVM_VCPU_TSC_OFFSET");
		rs_host_set_tsc_offset(guest, i, offset, 0);
	}
	if (!has_doorbell)
		rs_host_set_area(guest, area);
	must(rs_recorder_add_guest(recorder, guest, !has_doorbell));
}

/* ---- running ------------------------------------------------------------------------------ */

/* Reads of the serial port: it can always write. */
static uint8_t serial_in(uint16_t port)
{
	static uint8_t *copy;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	bool has_byte = is_apart && poll(&input, 1, 0) == 1;
	uint8_t byte = 0;

	if (port == COM1 + 5)
		return has_byte ? 0x21 : 0x20;
	if (port != COM1 || !has_byte || read(STDIN_FILENO, &byte, 1) != 1)
		return 0;
	if (!copy) {
		copy = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		need(copy != MAP_FAILED, "mmap");
		ram_read(NULL, 0, copy, RAM_BYTES);
	}
	return byte;
}

static void serve_io(const struct vcpu *v)
{
	struct kvm_run *run = v->run;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;
	struct kvm_regs regs;

	if (run->io.direction == KVM_EXIT_IO_IN) {
		memset(data, serial_in(run->io.port), run->io.size);
	} else if (run->io.port == COM1) {
		putchar(*data);
		if (*data == '\n')
			fflush(stdout);
	} else if (run->io.port == RESET) {
		over = true;
	} else if (has_doorbell && run->io.port == RS_DOORBELL_PORT) {
		kvm(v->fd, KVM_GET_REGS, &regs, "KVM_GET_REGS");
		must(rs_host_doorbell(guest, v->number, (uint32_t)regs.rax, regs.rcx));
	}
}

/* Ends KVM_RUN on the other vCPUs. */
static void stop_others(const struct vcpu *own)
{
	for (uint32_t i = 0; i < VCPUS; i++) {
		if (&vcpus[i] == own)
			continue;
		__atomic_store_n(&vcpus[i].run->immediate_exit, 1, __ATOMIC_SEQ_CST);
		pthread_kill(vcpus[i].thread, SIGUSR1);
	}
}

static void *run_vcpu(void *ctx)
{
	const struct vcpu *v = ctx;

	rs_trace_thread("machine", (int)v->number);
	while (!over && !v->run->immediate_exit) {
		int done;

		RS_EMIT_EVENT(vcpu_run, .vcpu = v->number);
		done = ioctl(v->fd, KVM_RUN, NULL);
		/* EAGAIN: the vCPU waited to be started. */
		need(done >= 0 || errno == EINTR || errno == EAGAIN, "KVM_RUN");
		RS_EMIT_EVENT(vcpu_exit, .vcpu = v->number, .reason = v->run->exit_reason,
			      .detail = 0);
		if (done >= 0 && v->run->exit_reason == KVM_EXIT_IO)
			serve_io(v);
		else
			need(done < 0, "an exit that this VMM does not handle");
		if (has_doorbell)
			must(rs_recorder_drain_guest(recorder, guest, v->number));
	}
	stop_others(v);
	return NULL;
}

static void wake(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = wake };
	struct rs_trace_options trace = { .provider = "machine" };
	struct rs_recorder_options options = { .directory = argc == 5 ? argv[3] : NULL };
	struct rs_recorder_summary sum;
	uint64_t entry, area;

	if (argc != 5)
		return 2;
	has_doorbell = !strcmp(argv[1], "doorbell");
	is_apart = !strcmp(argv[1], "apart");
	sigaction(SIGUSR1, &action, NULL);
	if (is_apart) {
		pieces = apart;
		n_pieces = sizeof(apart) / sizeof(apart[0]);
	} else {
		must(rs_clock_host(&options.clock));
		must(rs_trace_start(&trace));
		must(rs_recorder_create(&options, &recorder));
		must(rs_recorder_add_trace(recorder));
	}
	create_machine(argv[4]);
	entry = load(argv[2], &area);
	if (!is_apart)
		add_guest(&options.clock, area);
	enter_kernel(&vcpus[0], entry);
	/* The first one starts the others, so it is created last. */
	for (uint32_t i = VCPUS; i-- > 0;)
		need(!pthread_create(&vcpus[i].thread, NULL, run_vcpu, &vcpus[i]), "a thread");
	for (uint32_t i = 0; i < VCPUS; i++)
		need(!pthread_join(vcpus[i].thread, NULL), "a thread");
	if (is_apart)
		return 0;
	rs_host_guest_end(guest);
	must(rs_recorder_close(recorder, &sum));
	rs_host_guest_destroy(guest);
	printf("%llu records, %llu lost\n", (unsigned long long)sum.records,
	       (unsigned long long)sum.lost);
	return 0;
}
