/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the vCPUs' threads and their exit loop.
 *
 * A thread waits for a job under vm->lock, runs its vCPU until it halts or ends, and reports that.
 * While the job lasts, the thread owns the vCPU's function, outcome and counts; otherwise the VM's
 * owner does. RS_VM_KICK interrupts KVM_RUN; the threads block that signal everywhere else (kvm.c).
 */
#include "vm/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include <ringside/vmm.h>

/* ---- outcomes ----------------------------------------------------------------------------- */

void rs_vm_crash(struct rs_vm_vcpu *vcpu, enum rs_vm_end end, const char *format, ...)
{
	struct rs_vm_outcome *outcome = &vcpu->outcome;
	struct kvm_regs regs = { 0 };
	va_list args;

	rs_error_free(rs_vm_vcpu_registers(vcpu, &regs));
	*outcome = (struct rs_vm_outcome){ .end = end, .rip = regs.rip };
	va_start(args, format);
	vsnprintf(outcome->why, sizeof(outcome->why), format, args);
	va_end(args);
}

static void trace_error_keep(struct rs_vm *vm, struct rs_error *err)
{
	if (!err)
		return;
	pthread_mutex_lock(&vm->lock);
	if (!vm->trace_error) {
		vm->trace_error = err;
		err = NULL;
	}
	pthread_mutex_unlock(&vm->lock);
	if (err)
		rs_error_free(err);
}

struct rs_error *rs_vm_trace_error(struct rs_vm *vm)
{
	struct rs_error *err;

	pthread_mutex_lock(&vm->lock);
	err = vm->trace_error;
	vm->trace_error = NULL;
	pthread_mutex_unlock(&vm->lock);
	return err;
}

/* ---- exit handlers; false ends the run ---------------------------------------------------- */

static bool exit_doorbell(struct rs_vm_vcpu *vcpu, uint32_t eax, uint64_t rcx)
{
	if (eax == RS_DOORBELL_REGISTER)
		vcpu->counts.doorbell_register++;
	else if (eax == RS_DOORBELL_STACK)
		vcpu->counts.doorbell_stack++;
	else
		vcpu->counts.doorbell_full++;
	if (vcpu->vm->trace)
		trace_error_keep(vcpu->vm,
				 rs_host_doorbell(vcpu->vm->trace, vcpu->index, eax, rcx));
	return true;
}

static bool exit_kit(struct rs_vm_vcpu *vcpu, uint32_t eax, uint64_t rcx)
{
	switch (eax) {
	case RS_KIT_CALL_HOST:
		vcpu->counts.host_calls++;
		return rs_vm_serve_call(vcpu, rcx);
	case RS_KIT_ABORT:
		rs_vm_serve_abort(vcpu, rcx);
		return false;
	default:
		rs_vm_crash(vcpu, RS_VM_CRASHED, "an unknown request (%u) to the host", eax);
		return false;
	}
}

static const struct {
	uint16_t port;
	bool (*serve)(struct rs_vm_vcpu *vcpu, uint32_t eax, uint64_t rcx);
} ports[] = {
	{ RS_DOORBELL_PORT, exit_doorbell },
	{ RS_KIT_PORT, exit_kit },
};

static bool exit_io(struct rs_vm_vcpu *vcpu)
{
	const struct kvm_run *run = vcpu->run;
	struct kvm_regs regs;
	struct rs_error *err;
	uint32_t eax;

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		if (run->io.port != ports[i].port || run->io.direction != KVM_EXIT_IO_OUT ||
		    run->io.size != sizeof(eax) || run->io.count != 1)
			continue;
		memcpy(&eax, (const uint8_t *)run + run->io.data_offset, sizeof(eax));
		err = rs_vm_vcpu_registers(vcpu, &regs);
		if (err) {
			rs_vm_crash(vcpu, RS_VM_FAILED, "%s", rs_error_text(err));
			rs_error_free(err);
			return false;
		}
		return ports[i].serve(vcpu, eax, regs.rcx);
	}
	rs_vm_crash(vcpu, RS_VM_CRASHED, "%s port 0x%x, where the VM has no device",
		    run->io.direction == KVM_EXIT_IO_OUT ? "output to" : "input from",
		    run->io.port);
	return false;
}

/* Handles HLT. The kit's vCPUs halt when they are idle, and report that first. */
static bool exit_halt(struct rs_vm_vcpu *vcpu)
{
	uint64_t call = vcpu->boot_gpa + offsetof(struct rs_kit_boot, call);
	uint32_t state = RS_KIT_BOOTING;

	vcpu->counts.halts++;
	rs_vm_read(vcpu->vm, call + offsetof(struct rs_kit_call, state), &state, sizeof(state));
	vcpu->outcome = (struct rs_vm_outcome){ RS_VM_RETURNED };
	if (state == RS_KIT_IDLE && vcpu->function && !rs_vm_call_result(vcpu))
		rs_vm_crash(vcpu, RS_VM_CRASHED, "the guest's result is invalid");
	else if (state == RS_KIT_IDLE)
		return false;
	else if (state == RS_KIT_REFUSED)
		rs_vm_crash(vcpu, RS_VM_CRASHED, "the guest refused the call");
	else
		rs_vm_crash(vcpu, RS_VM_CRASHED, "the guest halted before the call returned");
	return false;
}

static bool exit_shutdown(struct rs_vm_vcpu *vcpu)
{
	rs_vm_crash(vcpu, RS_VM_CRASHED, "triple fault");
	return false;
}

static bool exit_mmio(struct rs_vm_vcpu *vcpu)
{
	const struct kvm_run *run = vcpu->run;

	rs_vm_crash(vcpu, RS_VM_CRASHED, "%s 0x%llx, where there is no memory",
		    run->mmio.is_write ? "write to" : "read from",
		    (unsigned long long)run->mmio.phys_addr);
	return false;
}

static bool exit_fail_entry(struct rs_vm_vcpu *vcpu)
{
	rs_vm_crash(vcpu, RS_VM_CRASHED, "the processor failed to enter the guest (0x%llx)",
		    (unsigned long long)vcpu->run->fail_entry.hardware_entry_failure_reason);
	return false;
}

/* Handles an internal error of KVM. On an emulation failure KVM provides the instruction's bytes,
 * which the outcome shows. */
static bool exit_internal_error(struct rs_vm_vcpu *vcpu)
{
	const struct kvm_run *run = vcpu->run;
	char bytes[3 * sizeof(run->emulation_failure.insn_bytes) + 1] = "";
	uint32_t n = run->emulation_failure.insn_size;

	if (run->internal.suberror == KVM_INTERNAL_ERROR_EMULATION && run->internal.ndata >= 4 &&
	    (run->emulation_failure.flags & KVM_INTERNAL_ERROR_EMULATION_FLAG_INSTRUCTION_BYTES) &&
	    n <= sizeof(run->emulation_failure.insn_bytes)) {
		for (uint32_t i = 0; i < n; i++)
			snprintf(bytes + 3 * i, 4, " %02x", run->emulation_failure.insn_bytes[i]);
	}
	rs_vm_crash(vcpu, RS_VM_CRASHED, "KVM cannot continue (internal error %u)%s%s",
		    run->internal.suberror, bytes[0] ? ", at instruction bytes" : "", bytes);
	return false;
}

static bool exit_interrupted(struct rs_vm_vcpu *vcpu)
{
	/* Pairs with the store in rs_vm_stop_as(). */
	enum rs_vm_end stop = (enum rs_vm_end)__atomic_load_n(&vcpu->vm->stop, __ATOMIC_SEQ_CST);

	vcpu->counts.interrupted++;
	if (stop == RS_VM_NOT_RUN)
		return true;
	rs_vm_crash(vcpu, stop, stop == RS_VM_TIMED_OUT ? "out of time" : "stopped");
	return false;
}

static uint64_t detail_io(const struct kvm_run *run)
{
	return run->io.port;
}

static uint64_t detail_mmio(const struct kvm_run *run)
{
	return run->mmio.phys_addr;
}

static uint64_t detail_fail_entry(const struct kvm_run *run)
{
	return run->fail_entry.hardware_entry_failure_reason;
}

static uint64_t detail_internal_error(const struct kvm_run *run)
{
	return run->internal.suberror;
}

/* One row per exit reason: the handler, and the detail of the event. */
static const struct exit_kind {
	uint32_t reason;
	bool (*serve)(struct rs_vm_vcpu *vcpu);
	uint64_t (*detail)(const struct kvm_run *run);
} exit_kinds[] = {
	{ KVM_EXIT_IO, exit_io, detail_io },
	{ KVM_EXIT_HLT, exit_halt, NULL },
	{ KVM_EXIT_MMIO, exit_mmio, detail_mmio },
	{ KVM_EXIT_SHUTDOWN, exit_shutdown, NULL },
	{ KVM_EXIT_INTR, exit_interrupted, NULL },
	{ KVM_EXIT_FAIL_ENTRY, exit_fail_entry, detail_fail_entry },
	{ KVM_EXIT_INTERNAL_ERROR, exit_internal_error, detail_internal_error },
};

static const struct exit_kind *exit_kind(uint32_t reason)
{
	for (size_t i = 0; i < sizeof(exit_kinds) / sizeof(exit_kinds[0]); i++) {
		if (exit_kinds[i].reason == reason)
			return &exit_kinds[i];
	}
	return NULL;
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* Drains the ring at every exit, for any reason, if the guest has a doorbell. A guest that never
 * exits again thereby loses nothing, and the doorbell of a full ring finds room. */
static void drain(struct rs_vm_vcpu *vcpu)
{
	struct rs_vm *vm = vcpu->vm;

	if (vm->trace && vm->options.hand_over == RS_KIT_DOORBELL)
		trace_error_keep(vm, rs_recorder_drain_guest(vm->recorder, vm->trace, vcpu->index));
}

/* Enters the guest once and serves its exit. */
static bool step(struct rs_vm_vcpu *vcpu)
{
	const struct exit_kind *kind;
	uint32_t reason;

	RS_EMIT_EVENT(vcpu_run, .vcpu = vcpu->index);
	rs_vm_acrn_enter(vcpu);
	if (ioctl(vcpu->fd, KVM_RUN, 0) < 0) {
		if (errno != EINTR && errno != EAGAIN) {
			rs_vm_crash(vcpu, RS_VM_FAILED, "KVM_RUN: %s", strerrordesc_np(errno));
			return false;
		}
		reason = KVM_EXIT_INTR;
	} else {
		reason = vcpu->run->exit_reason;
	}
	rs_vm_acrn_exit(vcpu, reason);
	RS_LOG(DEBUG, "vCPU %u: exit %u", vcpu->index, reason);
	kind = exit_kind(reason);
	vcpu->counts.exits++;
	RS_EMIT_EVENT(vcpu_exit, .vcpu = vcpu->index, .reason = reason,
		      .detail = kind && kind->detail ? kind->detail(vcpu->run) : 0);
	drain(vcpu);
	if (!kind) {
		rs_vm_crash(vcpu, RS_VM_CRASHED, "exit %u, which this VM does not support", reason);
		return false;
	}
	return kind->serve(vcpu);
}

static void job_run(struct rs_vm_vcpu *vcpu)
{
	RS_SPAN(vcpu, "run vCPU");
	struct rs_vm_outcome *outcome = &vcpu->outcome;

	RS_LOG(INFO, "vCPU %u: %s", vcpu->index, vcpu->function ? vcpu->function : "boots");
	if (vcpu->function)
		RS_EMIT_EVENT_TEXT(call_guest, vcpu->function, strlen(vcpu->function),
				   .vcpu = vcpu->index);
	/* A stop before the thread existed sent no kick; later stops interrupt KVM_RUN. */
	if (__atomic_load_n(&vcpu->vm->stop, __ATOMIC_SEQ_CST) != RS_VM_NOT_RUN)
		exit_interrupted(vcpu);
	else
		while (step(vcpu))
			continue;
	rs_vm_tsc_check(vcpu);
	if (outcome->end != RS_VM_RETURNED) {
		RS_LOG(ERROR, "vCPU %u: %s, at rip 0x%llx", vcpu->index, outcome->why,
		       (unsigned long long)outcome->rip);
		RS_EMIT_EVENT_TEXT(guest_crash, outcome->why, strlen(outcome->why),
				   .vcpu = vcpu->index, .rip = outcome->rip);
	} else if (vcpu->function) {
		uint64_t result = rs_vm_value_number(&outcome->result);

		RS_LOG(INFO, "vCPU %u: %s returned %llu", vcpu->index, vcpu->function,
		       (unsigned long long)result);
		RS_EMIT_EVENT(call_guest_end, .vcpu = vcpu->index, .result = result);
	}
}

static void *vcpu_thread(void *arg)
{
	struct rs_vm_vcpu *vcpu = arg;
	struct rs_vm *vm = vcpu->vm;

	rs_trace_thread(vm->options.name, (int)vcpu->index);
	pthread_mutex_lock(&vm->lock);
	for (;;) {
		while (vcpu->job == RS_VM_JOB_NONE)
			pthread_cond_wait(&vcpu->wake, &vm->lock);
		if (vcpu->job == RS_VM_JOB_QUIT)
			break;
		pthread_mutex_unlock(&vm->lock);
		job_run(vcpu);
		pthread_mutex_lock(&vm->lock);
		vcpu->job = RS_VM_JOB_NONE;
		pthread_cond_signal(&vm->done);
	}
	pthread_mutex_unlock(&vm->lock);
	return NULL;
}

/* ---- the owner's side --------------------------------------------------------------------- */

void rs_vm_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct rs_error *rs_vm_threads_start(struct rs_vm *vm)
{
	sigset_t all, before;
	int error = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (uint32_t i = 0; i < vm->options.vcpus && !error; i++) {
		struct rs_vm_vcpu *vcpu = &vm->vcpus[i];
		/* fits the longest index; the kernel keeps 15 bytes, enough for 63 */
		char name[24];

		error = pthread_create(&vcpu->thread, NULL, vcpu_thread, vcpu);
		if (error)
			break;
		/* Either rs_vm_stop_as() observes the thread, or the thread's job observes the stop
		 * (job_run()). */
		__atomic_store_n(&vcpu->has_thread, true, __ATOMIC_SEQ_CST);
		snprintf(name, sizeof(name), "CPU %u/KVM", i);
		pthread_setname_np(vcpu->thread, name);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return rs_error_errno(error, "a vCPU's thread");
	return NULL;
}

void rs_vm_threads_end(struct rs_vm *vm)
{
	for (uint32_t i = 0; i < vm->options.vcpus; i++) {
		struct rs_vm_vcpu *vcpu = &vm->vcpus[i];

		if (!vcpu->has_thread)
			continue;
		pthread_mutex_lock(&vm->lock);
		vcpu->job = RS_VM_JOB_QUIT;
		pthread_cond_signal(&vcpu->wake);
		pthread_mutex_unlock(&vm->lock);
		__atomic_store_n(&vcpu->has_thread, false, __ATOMIC_SEQ_CST);
		pthread_join(vcpu->thread, NULL);
	}
}

/* Stops all vCPUs. Keeps the first reason. Async-signal-safe. */
static void rs_vm_stop_as(struct rs_vm *vm, enum rs_vm_end end)
{
	int none = RS_VM_NOT_RUN;

	/* Pairs with the load in exit_interrupted(). */
	__atomic_compare_exchange_n(&vm->stop, &none, (int)end, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < vm->options.vcpus; i++) {
		/* Pairs with the store in rs_vm_threads_start(). */
		if (__atomic_load_n(&vm->vcpus[i].has_thread, __ATOMIC_SEQ_CST))
			pthread_kill(vm->vcpus[i].thread, RS_VM_KICK);
	}
}

void rs_vm_stop(struct rs_vm *vm)
{
	rs_vm_stop_as(vm, RS_VM_STOPPED);
}

static struct timespec deadline_after(uint32_t timeout_ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += timeout_ms / 1000;
	at.tv_nsec += timeout_ms % 1000 * 1000000l;
	if (at.tv_nsec >= 1000000000l) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000l;
	}
	return at;
}

void rs_vm_run(struct rs_vm *vm, uint32_t first, uint32_t last, const char *function,
	       uint32_t timeout_ms)
{
	struct timespec deadline = deadline_after(timeout_ms);

	pthread_mutex_lock(&vm->lock);
	for (uint32_t i = first; i < last; i++) {
		struct rs_vm_vcpu *vcpu = &vm->vcpus[i];
		bool fit = function ? vcpu->outcome.end == RS_VM_RETURNED : true;

		vcpu->function = function;
		if (!fit)
			continue;
		vcpu->outcome = (struct rs_vm_outcome){ RS_VM_NOT_RUN };
		vcpu->job = RS_VM_JOB_RUN;
		pthread_cond_signal(&vcpu->wake);
	}
	for (uint32_t i = first; i < last; i++) {
		while (vm->vcpus[i].job == RS_VM_JOB_RUN) {
			if (!timeout_ms) {
				pthread_cond_wait(&vm->done, &vm->lock);
			} else if (pthread_cond_timedwait(&vm->done, &vm->lock, &deadline) ==
				   ETIMEDOUT) {
				rs_vm_stop_as(vm, RS_VM_TIMED_OUT);
				timeout_ms = 0;
			}
		}
	}
	pthread_mutex_unlock(&vm->lock);
}
