/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small VMM in the common part of C and C++: runs a guest on one vCPU until it halts, and records
 * both. bindings/rust/examples/vmm.rs is the same in Rust.
 *
 *	vmm GUEST TRACE
 *
 * The guest is a static ELF file, linked between 1 and 16 MiB, whose entry is called in 64-bit mode
 * with a stack, at addresses that are the same virtual and physical.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ringside/recorder.h>
#include <ringside/vmm.h>

#define RAM_BYTES    ((size_t)16 << 20)
#define TABLES	     0x1000u /* a page each: PML4, PDPT, PD */
#define IMAGE_LOWEST (1u << 20)

RS_DEFINE_EVENT(halted, vcpu, "halted", (u64, exits), (u64, doorbells));

static uint8_t *ram;
static int cpu;
static struct kvm_run *state;
static struct rs_recorder *recorder;
static struct rs_host_guest *guest;

static void fail(const char *what)
{
	fprintf(stderr, "vmm: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void must(struct rs_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "vmm: %s\n", rs_error_text(err));
	exit(1);
}

static int kvm(int fd, unsigned long request, void *argument, const char *what)
{
	int done = ioctl(fd, request, argument);

	if (done < 0)
		fail(what);
	return done;
}

static bool ram_read(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	(void)ctx;
	if (bytes > RAM_BYTES || gpa > RAM_BYTES - bytes)
		return false;
	memcpy(to, ram + gpa, bytes);
	return true;
}

static bool ram_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	(void)ctx;
	if (bytes > RAM_BYTES || gpa > RAM_BYTES - bytes)
		return false;
	memcpy(ram + gpa, from, bytes);
	return true;
}

/* Loads the segments of an ELF file. Returns its entry. */
static uint64_t load(const char *path)
{
	static uint8_t image[RAM_BYTES];
	FILE *file = fopen(path, "rb");
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)image;
	size_t bytes;

	if (!file)
		fail(path);
	bytes = fread(image, 1, sizeof(image), file);
	fclose(file);
	errno = ENOEXEC;
	if (bytes < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_phoff > bytes || head->e_phnum > (bytes - head->e_phoff) / sizeof(Elf64_Phdr))
		fail(path);
	for (unsigned i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, image + head->e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type != PT_LOAD)
			continue;
		if (segment.p_paddr < IMAGE_LOWEST || segment.p_filesz > bytes ||
		    segment.p_offset > bytes - segment.p_filesz ||
		    !ram_write(NULL, segment.p_paddr, image + segment.p_offset, segment.p_filesz))
			fail(path);
	}
	return head->e_entry;
}

/* Maps the RAM, in pages of 2 MiB, at the same virtual addresses. */
static void map_identically(void)
{
	uint64_t *tables = (uint64_t *)(void *)(ram + TABLES);

	tables[0] = (TABLES + 0x1000) | 3;
	tables[512] = (TABLES + 0x2000) | 3;
	for (uint64_t i = 0; i < RAM_BYTES >> 21; i++)
		tables[1024 + i] = i << 21 | 0x83;
}

/* Puts the vCPU into 64-bit mode, at the guest's entry. */
static void set_registers(uint64_t entry)
{
	struct kvm_segment segment;
	struct kvm_sregs special;
	struct kvm_regs regs;

	kvm(cpu, KVM_GET_SREGS, &special, "KVM_GET_SREGS");
	memset(&segment, 0, sizeof(segment));
	segment.limit = 0xffffffff;
	segment.selector = 8;
	segment.type = 11;
	segment.present = segment.s = segment.l = segment.g = 1;
	special.cs = segment;
	segment.selector = 16;
	segment.type = 3;
	segment.l = 0;
	segment.db = 1;
	special.ds = special.es = special.fs = special.gs = special.ss = segment;
	special.cr3 = TABLES;
	special.cr4 = 0x20;	  /* PAE */
	special.cr0 = 0x80050033; /* PG AM WP NE ET MP PE */
	special.efer = 0x500;	  /* LMA LME */
	kvm(cpu, KVM_SET_SREGS, &special, "KVM_SET_SREGS");
	memset(&regs, 0, sizeof(regs));
	regs.rip = entry;
	regs.rsp = RAM_BYTES - 8; /* the entry is called */
	regs.rflags = 2;
	kvm(cpu, KVM_SET_REGS, &regs, "KVM_SET_REGS");
}

static void set_tsc_offset(void)
{
	struct kvm_device_attr attr;
	uint64_t offset = 0;

	memset(&attr, 0, sizeof(attr));
	attr.group = KVM_VCPU_TSC_CTRL;
	attr.attr = KVM_VCPU_TSC_OFFSET;
	attr.addr = (uintptr_t)&offset;
	kvm(cpu, KVM_GET_DEVICE_ATTR, &attr, "KVM_VCPU_TSC_OFFSET");
	rs_host_set_tsc_offset(guest, 0, (int64_t)offset, 0);
}

static void *run(void *ctx)
{
	uint64_t exits = 0, doorbells = 0;
	struct kvm_regs regs;

	(void)ctx;
	rs_trace_thread("example", 0);
	do {
		{
			RS_SPAN(vcpu, "run vCPU");

			RS_EMIT_EVENT(vcpu_run, .vcpu = 0);
			kvm(cpu, KVM_RUN, NULL, "KVM_RUN");
		}
		exits++;
		RS_EMIT_EVENT(vcpu_exit, .vcpu = 0, .reason = state->exit_reason, .detail = 0);
		if (state->exit_reason == KVM_EXIT_IO && state->io.port == RS_DOORBELL_PORT) {
			kvm(cpu, KVM_GET_REGS, &regs, "KVM_GET_REGS");
			doorbells++;
			must(rs_host_doorbell(guest, 0, (uint32_t)regs.rax, regs.rcx));
		}
		must(rs_recorder_drain_guest(recorder, guest, 0));
		if (state->exit_reason != KVM_EXIT_IO && state->exit_reason != KVM_EXIT_HLT) {
			fprintf(stderr, "vmm: exit reason %u\n", state->exit_reason);
			exit(1);
		}
	} while (state->exit_reason == KVM_EXIT_IO);
	RS_EMIT(halted, .exits = exits, .doorbells = doorbells);
	return NULL;
}

static void create_vm(const char *image)
{
	struct kvm_userspace_memory_region region;
	int dev = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm, bytes;
	uint64_t entry;
	void *at;

	if (dev < 0)
		fail("/dev/kvm");
	vm = kvm(dev, KVM_CREATE_VM, NULL, "KVM_CREATE_VM");
	at = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		fail("the guest's RAM");
	ram = (uint8_t *)at;
	memset(&region, 0, sizeof(region));
	region.memory_size = RAM_BYTES;
	region.userspace_addr = (uintptr_t)ram;
	kvm(vm, KVM_SET_USER_MEMORY_REGION, &region, "KVM_SET_USER_MEMORY_REGION");
	RS_EMIT_EVENT(vm_create, .vcpus = 1, .memory = RAM_BYTES);
	cpu = kvm(vm, KVM_CREATE_VCPU, NULL, "KVM_CREATE_VCPU");
	bytes = kvm(dev, KVM_GET_VCPU_MMAP_SIZE, NULL, "KVM_GET_VCPU_MMAP_SIZE");
	at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
	if (at == MAP_FAILED)
		fail("the vCPU's state");
	state = (struct kvm_run *)at;
	entry = load(image);
	RS_EMIT_EVENT_TEXT(vm_load, image, strlen(image), .entry = entry, .size = 0);
	map_identically();
	set_registers(entry);
}

int main(int argc, char **argv)
{
	struct rs_recorder_options options;
	struct rs_recorder_summary sum;
	struct rs_trace_options trace;
	struct rs_host_options host;
	pthread_t thread;

	if (argc != 3) {
		fprintf(stderr, "usage: vmm GUEST TRACE\n");
		return 2;
	}
	memset(&trace, 0, sizeof(trace));
	trace.provider = "examplevmm";
	must(rs_trace_start(&trace));
	memset(&options, 0, sizeof(options));
	options.directory = argv[2];
	must(rs_clock_host(&options.clock));
	must(rs_recorder_create(&options, &recorder));
	must(rs_recorder_add_trace(recorder));
	create_vm(argv[1]);

	memset(&host, 0, sizeof(host));
	host.vm = "example";
	host.memory.read = ram_read;
	host.memory.write = ram_write;
	host.clock = &options.clock;
	host.vcpus = 1;
	must(rs_host_guest_create(&host, &guest));
	must(rs_recorder_add_guest(recorder, guest, false));
	set_tsc_offset();
	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
		fail("the vCPU's thread");
	rs_host_guest_end(guest);
	RS_EMIT_EVENT(vm_destroy, );
	must(rs_recorder_close(recorder, &sum));
	rs_host_guest_destroy(guest);
	printf("%llu records, %llu lost\n", (unsigned long long)sum.records,
	       (unsigned long long)sum.lost);
	return 0;
}
