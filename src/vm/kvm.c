/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates the VM and its vCPUs in KVM. The interface follows the kernel's
 * Documentation/virt/kvm/api.rst.
 */
#include "vm/internal.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/count.h"
#include "kvm/kvm.h"
#include <ringside/vmm.h>

#define KVM_DEVICE     "/dev/kvm"
#define KVM_API_WANTED 12
#define CPUID_ENTRIES  256u
#define TSC_TRIES      16 /* attempts to read the TSC's offset by stamps; the closest one wins */
#define MSR_TSC	       0x10u

/* Pages that VMX needs outside RAM (KVM_SET_TSS_ADDR). AMD ignores them. */
#define IDENTITY_MAP_GPA UINT64_C(0xfffbc000)
#define TSS_GPA		 0xfffbd000ul

/* ---- the machine's KVM -------------------------------------------------------------------- */

static struct rs_error *open_error(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return rs_error_create(
			RS_ABSENT,
			"%s does not exist: enable virtualization (VT-x, AMD-V) in the firmware "
			"and load the module (modprobe kvm_intel or kvm_amd); in a virtual "
			"machine or container, its host must allow nested virtualization and "
			"pass %s on",
			KVM_DEVICE, KVM_DEVICE);
	case EACCES:
	case EPERM:
		return rs_error_create(
			RS_ABSENT,
			"no permission to use %s: run as root, or join its group (usermod -aG kvm "
			"USER) and log in again",
			KVM_DEVICE);
	default:
		return rs_error_errno(error, "%s", KVM_DEVICE);
	}
}

static struct rs_error *kvm_open(int *kvm)
{
	int fd = open(KVM_DEVICE, O_RDWR | O_CLOEXEC);
	int version;

	if (fd < 0)
		return open_error(errno);
	version = ioctl(fd, KVM_GET_API_VERSION, 0);
	if (version != KVM_API_WANTED) {
		close(fd);
		if (version < 0)
			return rs_error_create(RS_ABSENT, "%s is not a KVM device", KVM_DEVICE);
		return rs_error_create(RS_ABSENT, "%s has version %d of the KVM interface, not %d",
				       KVM_DEVICE, version, KVM_API_WANTED);
	}
	*kvm = fd;
	return NULL;
}

struct rs_error *rs_vm_check(void)
{
	int kvm;
	struct rs_error *err = kvm_open(&kvm);

	if (!err)
		close(kvm);
	return err;
}

/* ---- vCPUs -------------------------------------------------------------------------------- */

static bool host_tsc_invariant(void)
{
	uint32_t eax, ebx, ecx, edx;

	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & 1u << 8);
}

/* Adapts the processor's features for the guest: all that KVM supports, the vCPU's own APIC id, and
 * the invariant TSC if the host has it, which some kernels leave out. */
static void cpuid_adapt(struct kvm_cpuid2 *cpuid, uint32_t vcpu)
{
	for (uint32_t i = 0; i < cpuid->nent; i++) {
		struct kvm_cpuid_entry2 *entry = &cpuid->entries[i];

		switch (entry->function) {
		case 1:
			entry->ebx = (entry->ebx & 0x00ffffff) | vcpu << 24;
			break;
		case 0xb:
		case 0x1f:
			entry->edx = vcpu;
			break;
		case 0x80000007:
			if (host_tsc_invariant())
				entry->edx |= 1u << 8;
			break;
		}
	}
}

static struct rs_error *cpuid_set(struct rs_vm_vcpu *vcpu)
{
	struct rs_error *err = NULL;
	struct kvm_cpuid2 *cpuid =
		calloc(1, sizeof(*cpuid) + CPUID_ENTRIES * sizeof(cpuid->entries[0]));

	if (!cpuid)
		return rs_error_no_memory();
	cpuid->nent = CPUID_ENTRIES;
	if (ioctl(vcpu->vm->kvm, KVM_GET_SUPPORTED_CPUID, cpuid) < 0) {
		err = rs_error_errno(errno, "KVM_GET_SUPPORTED_CPUID");
	} else {
		cpuid_adapt(cpuid, vcpu->index);
		if (ioctl(vcpu->fd, KVM_SET_CPUID2, cpuid) < 0)
			err = rs_error_errno(errno, "KVM_SET_CPUID2");
	}
	free(cpuid);
	return err;
}

/* The offset of a vCPU's TSC from the host's, and the error of that offset. */
struct tsc_offset {
	int64_t cycles;
	uint64_t error;
};

/* Measures the offset where KVM lacks the attribute: reads the guest's TSC from KVM between two
 * stamps of the host's. */
static struct rs_error *tsc_offset_by_stamps(const struct rs_vm_vcpu *vcpu, struct tsc_offset *out)
{
	uint64_t closest = UINT64_MAX;

	for (int i = 0; i < TSC_TRIES; i++) {
		struct {
			struct kvm_msrs head;
			struct kvm_msr_entry entry;
		} msrs = { .head.nmsrs = 1, .entry.index = MSR_TSC };
		uint64_t before = rs_tsc(), after;

		if (ioctl(vcpu->fd, KVM_GET_MSRS, &msrs) != 1)
			return rs_error_errno(errno, "KVM_GET_MSRS of the TSC");
		after = rs_tsc();
		if (after - before >= closest)
			continue;
		closest = after - before;
		out->cycles = (int64_t)(msrs.entry.data - (before + closest / 2));
		out->error = closest / 2 + 1;
	}
	return NULL;
}

/* Returns the offset. The attribute is exact; Linux has it since 5.16 (kernel commit
 * 828ca89628bf). */
static struct rs_error *tsc_offset_get(const struct rs_vm_vcpu *vcpu, struct tsc_offset *out)
{
	uint64_t offset = 0;
	struct kvm_device_attr attr = {
		.group = KVM_VCPU_TSC_CTRL,
		.attr = KVM_VCPU_TSC_OFFSET,
		.addr = (uintptr_t)&offset,
	};

	if (ioctl(vcpu->fd, KVM_GET_DEVICE_ATTR, &attr) < 0)
		return tsc_offset_by_stamps(vcpu, out);
	*out = (struct tsc_offset){ .cycles = (int64_t)offset };
	return NULL;
}

/* Checks whether KVM has moved the TSC offset. KVM does so when it considers the host's TSC
 * unstable (kvm_arch_vcpu_load() in the kernel's arch/x86/kvm/x86.c); only a later check can detect
 * it. */
void rs_vm_tsc_check(struct rs_vm_vcpu *vcpu)
{
	struct tsc_offset now;
	struct rs_error *err = tsc_offset_get(vcpu, &now);
	uint64_t apart;

	if (err) {
		rs_error_free(err);
		return;
	}
	apart = (uint64_t)(now.cycles - vcpu->tsc_offset);
	if (now.cycles < vcpu->tsc_offset)
		apart = -apart;
	if (apart > now.error + vcpu->tsc_error && apart > vcpu->tsc_moved)
		vcpu->tsc_moved = apart;
}

uint64_t rs_vm_tsc_moved(const struct rs_vm *vm, uint32_t vcpu)
{
	return vm->vcpus[vcpu].tsc_moved;
}

/* Unblocks the kick only within KVM_RUN, so that none is missed between a check of vm->stop and
 * KVM_RUN. */
static struct rs_error *signal_mask_set(struct rs_vm_vcpu *vcpu)
{
	uint64_t blocked = ~(UINT64_C(1) << (RS_VM_KICK - 1)); /* the kernel's sigset_t */
	uint32_t mask[3] = { sizeof(blocked) }; /* struct kvm_signal_mask: len, set */

	memcpy(&mask[1], &blocked, sizeof(blocked));
	if (ioctl(vcpu->fd, KVM_SET_SIGNAL_MASK, mask) < 0)
		return rs_error_errno(errno, "KVM_SET_SIGNAL_MASK");
	return NULL;
}

static struct rs_error *vcpu_create(struct rs_vm *vm, uint32_t index)
{
	struct rs_vm_vcpu *vcpu = &vm->vcpus[index];
	struct tsc_offset offset = { 0 };
	struct rs_error *err;
	void *run;

	vcpu->fd = ioctl(vm->fd, KVM_CREATE_VCPU, (unsigned long)index);
	if (vcpu->fd < 0)
		return rs_error_errno(errno, "KVM_CREATE_VCPU %u", index);
	run = mmap(NULL, vm->run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu->fd, 0);
	if (run == MAP_FAILED)
		return rs_error_errno(errno, "mmap of vCPU %u", index);
	vcpu->run = run;
	err = cpuid_set(vcpu);
	if (!err)
		err = tsc_offset_get(vcpu, &offset);
	if (!err)
		err = signal_mask_set(vcpu);
	vcpu->tsc_offset = offset.cycles;
	vcpu->tsc_error = offset.error;
	if (!err)
		RS_EMIT_EVENT(vcpu_create, .vcpu = index, .tsc_offset = vcpu->tsc_offset);
	return err;
}

struct rs_error *rs_vm_vcpu_registers(struct rs_vm_vcpu *vcpu, struct kvm_regs *regs)
{
	if (ioctl(vcpu->fd, KVM_GET_REGS, regs) < 0)
		return rs_error_errno(errno, "KVM_GET_REGS");
	return NULL;
}

/* ---- the VM ------------------------------------------------------------------------------- */

static struct rs_error *memory_create(struct rs_vm *vm)
{
	struct kvm_userspace_memory_region region = {
		.memory_size = vm->options.memory_bytes + vm->log_bytes,
	};
	void *memory = mmap(NULL, region.memory_size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct rs_error *err;

	if (memory == MAP_FAILED)
		return rs_error_errno(errno, "map %llu bytes of guest memory",
				      (unsigned long long)vm->options.memory_bytes);
	vm->memory = memory;
	err = rs_vm_log_map(vm);
	if (err)
		return err;
	region.userspace_addr = (uintptr_t)memory;
	if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		return rs_error_errno(errno, "KVM_SET_USER_MEMORY_REGION");
	return NULL;
}

static struct rs_error *machine_create(struct rs_vm *vm)
{
	uint64_t identity_map = IDENTITY_MAP_GPA;
	int bytes;

	do {
		vm->fd = ioctl(vm->kvm, KVM_CREATE_VM, 0ul);
	} while (vm->fd < 0 && errno == EINTR);
	if (vm->fd < 0)
		return rs_error_errno(errno, "KVM_CREATE_VM");
	if (ioctl(vm->kvm, KVM_CHECK_EXTENSION, KVM_CAP_SET_IDENTITY_MAP_ADDR) > 0 &&
	    ioctl(vm->fd, KVM_SET_IDENTITY_MAP_ADDR, &identity_map) < 0)
		return rs_error_errno(errno, "KVM_SET_IDENTITY_MAP_ADDR");
	if (ioctl(vm->kvm, KVM_CHECK_EXTENSION, KVM_CAP_SET_TSS_ADDR) > 0 &&
	    ioctl(vm->fd, KVM_SET_TSS_ADDR, TSS_GPA) < 0)
		return rs_error_errno(errno, "KVM_SET_TSS_ADDR");
	bytes = ioctl(vm->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (bytes < (int)sizeof(struct kvm_run))
		return rs_error_errno(errno, "KVM_GET_VCPU_MMAP_SIZE");
	vm->run_bytes = (size_t)bytes;
	return memory_create(vm);
}

static struct rs_error *options_check(const struct rs_vm_options *options)
{
	if (!options->vcpus || options->vcpus > RS_VM_VCPUS_MAX)
		return rs_error_create(RS_USAGE, "%s; allowed: 1 to %u",
				       RS_COUNT_OF(options->vcpus, "vCPU"), RS_VM_VCPUS_MAX);
	if (!options->memory_bytes || options->memory_bytes % RS_VM_LARGE_PAGE ||
	    options->memory_bytes > RS_VM_MEMORY_MAX)
		return rs_error_create(RS_USAGE,
				       "%llu bytes of memory; allowed: a multiple of 2 MiB up to "
				       "%llu MiB",
				       (unsigned long long)options->memory_bytes,
				       (unsigned long long)(RS_VM_MEMORY_MAX >> 20));
	return NULL;
}

static const char *name_of(const struct rs_vm *vm)
{
	return vm->options.name ? vm->options.name : "without a name";
}

/* Publishes the VM's name to other tools on the host through a descriptor. Nothing else depends on
 * it: without it, tools name the VM by its process. Returns the descriptor, or -1. */
static int name_publish(const char *name)
{
	char text[sizeof(RS_KVM_NAME_MEMFD) + RS_KVM_VM_MAX];

	if (!name)
		return -1;
	snprintf(text, sizeof(text), "%s%s", RS_KVM_NAME_MEMFD, name);
	return memfd_create(text, MFD_CLOEXEC);
}

static struct rs_error *parts_create(struct rs_vm *vm)
{
	struct rs_error *err = kvm_open(&vm->kvm);

	if (!err)
		err = rs_vm_acrn_open(vm);
	if (!err)
		err = rs_vm_log_open(vm);
	if (!err)
		err = machine_create(vm);
	if (!err) {
		RS_LOG(INFO, "VM %s: %s, %llu MiB", name_of(vm),
		       RS_COUNT_OF(vm->options.vcpus, "vCPU"),
		       (unsigned long long)(vm->options.memory_bytes >> 20));
		RS_EMIT_EVENT(vm_create, .vcpus = vm->options.vcpus,
			      .memory = vm->options.memory_bytes);
	}
	for (uint32_t i = 0; i < vm->options.vcpus && !err; i++)
		err = vcpu_create(vm, i);
	return err;
}

struct rs_error *rs_vm_create(const struct rs_vm_options *options, struct rs_vm **out)
{
	RS_SPAN(vm, "create VM");
	struct rs_error *err = options_check(options);
	struct rs_vm *vm;

	if (err)
		return err;
	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return rs_error_no_memory();
	vm->options = *options;
	if (!vm->options.ring_bytes)
		vm->options.ring_bytes = RS_VM_RING_BYTES;
	vm->kvm = vm->fd = -1;
	vm->name_fd = name_publish(options->name);
	pthread_mutex_init(&vm->lock, NULL);
	pthread_mutex_init(&vm->symbols_lock, NULL);
	rs_vm_condition_init(&vm->done);
	for (uint32_t i = 0; i < RS_VM_VCPUS_MAX; i++) {
		vm->vcpus[i] = (struct rs_vm_vcpu){ .vm = vm, .index = i, .fd = -1 };
		rs_vm_condition_init(&vm->vcpus[i].wake);
	}
	err = parts_create(vm);
	if (err) {
		rs_vm_destroy(vm);
		return err;
	}
	*out = vm;
	return NULL;
}

void rs_vm_end(struct rs_vm *vm)
{
	if (vm->fd < 0)
		return;
	rs_vm_threads_end(vm);
	for (uint32_t i = 0; i < vm->options.vcpus; i++) {
		struct rs_vm_vcpu *vcpu = &vm->vcpus[i];

		if (vcpu->run)
			munmap(vcpu->run, vm->run_bytes);
		vcpu->run = NULL;
		if (vcpu->fd >= 0)
			close(vcpu->fd);
		vcpu->fd = -1;
	}
	close(vm->fd);
	vm->fd = -1;
	rs_vm_log_end(vm);
	RS_LOG(INFO, "VM %s has ended", name_of(vm));
	RS_EMIT_EVENT(vm_destroy);
}

void rs_vm_destroy(struct rs_vm *vm)
{
	if (!vm)
		return;
	rs_vm_end(vm);
	rs_vm_acrn_close(vm);
	if (vm->kvm >= 0)
		close(vm->kvm);
	if (vm->name_fd >= 0)
		close(vm->name_fd);
	if (vm->memory)
		munmap(vm->memory, vm->options.memory_bytes + vm->log_bytes);
	rs_vm_log_close(vm);
	rs_vm_image_deinit(&vm->image);
	rs_symbols_destroy(vm->symbols);
	if (vm->trace_error)
		rs_error_free(vm->trace_error);
	for (uint32_t i = 0; i < RS_VM_VCPUS_MAX; i++)
		pthread_cond_destroy(&vm->vcpus[i].wake);
	pthread_cond_destroy(&vm->done);
	pthread_mutex_destroy(&vm->lock);
	pthread_mutex_destroy(&vm->symbols_lock);
	free(vm);
}

uint32_t rs_vm_vcpus(const struct rs_vm *vm)
{
	return vm->options.vcpus;
}

struct rs_vm_counts rs_vm_counts(const struct rs_vm *vm, uint32_t vcpu)
{
	return vm->vcpus[vcpu].counts;
}
