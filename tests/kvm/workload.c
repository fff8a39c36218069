/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual machines with a known number of exits of each kind, by port, MSR, leaf and address. Each
 * number is a different prime, also for each vCPU. This program uses no code of Ringside. Each VM
 * is a process, each vCPU one of its threads, "CPU n/KVM". The guests' code depends on the
 * architecture: workload_x86.c, workload_arm64.c.
 *
 *	workload [OPTION...] DIR
 *
 *	DIR/workload.json	written when all is ready: processes, threads, expected exits
 *	DIR/ids			the same processes and threads for a shell: pid0=, tid0_1=, ...
 *	DIR/go			the guests start once this file exists
 *	DIR/done		written when every guest has ended
 *	DIR/quit		threads and VMs stay until this file exists
 *
 * The last exit of each vCPU is a write that ends the guest; the vCPU does not enter again.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

#define VMS_MAX	    16
#define PRIME_FIRST 101
#define POLL_US	    5000
#define PID_TRIES   100

struct options options = {
	.prefix = "bed", .vms = 1, .vcpus = 1, .rounds = 1, .cpu = -1, .dies = -1
};

void die(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

int check(int result, const char *what)
{
	if (result < 0)
		die(what);
	return result;
}

static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", options.dir, name);
	return path;
}

static void wait_for(const char *name)
{
	while (access(path_of(name), F_OK) != 0)
		usleep(POLL_US);
}

static bool is_prime(uint32_t n)
{
	for (uint32_t d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return n > 1;
}

/* Returns another prime for each action of each vCPU of each VM. */
static uint32_t prime(int vm, int vcpu, unsigned int action)
{
	uint32_t index = (uint32_t)(vm * options.vcpus + vcpu) * arch.n_actions + action;
	uint32_t n = PRIME_FIRST;

	while (index-- > 0)
		do
			n++;
		while (!is_prime(n));
	return n;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

/* Runs the guest to its end. */
static void run_guest(struct vcpu *vcpu)
{
	uint32_t exits = 0;

	for (;;) {
		enum after_exit after;

		if (ioctl(vcpu->fd, KVM_RUN, 0) < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			die("KVM_RUN");
		}
		exits++;
		after = arch_exit(vcpu->run);
		if (after == ENDED) {
			vcpu->over = true;
			return;
		}
		if (after == WAKE) {
			arch_calm(vcpu);
			check((int)write(vcpu->wake_fd, &(uint64_t){ 1 }, 8), "wake");
		} else if (after == STRANGE) {
			fprintf(stderr, "workload: vCPU %d: exit reason %u\n", vcpu->number,
				vcpu->run->exit_reason);
			exit(1);
		}
		if (options.yield)
			sched_yield();
		if (options.move && exits % 16 == 0)
			pin((int)(exits / 16 % (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)));
	}
}

/*
 * Makes the next process or thread get the number after `pid`, if no other process forks meanwhile.
 * Returns the number that was assigned last. A caller that restores it keeps later processes, of an
 * idle shell and the kernel, away from the chosen numbers.
 */
static int set_last_pid(int pid)
{
	FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "r+");
	int before;

	if (!last || fscanf(last, "%d", &before) != 1 || fseek(last, 0, SEEK_SET) != 0 ||
	    fprintf(last, "%d", pid) < 0 || fclose(last) != 0)
		die("/proc/sys/kernel/ns_last_pid");
	return before;
}

static void *vcpu_thread(void *arg)
{
	struct vcpu *vcpu = arg;
	struct vm *vm = vcpu->vm;
	char name[32]; /* of which 15 bytes count */
	bool wanted;

	snprintf(name, sizeof(name), "CPU %d/KVM", vcpu->number);
	pthread_setname_np(pthread_self(), name);
	if (options.cpu >= 0)
		pin(options.cpu);
	pthread_mutex_lock(&vm->lock);
	vcpu->tid = (int)syscall(SYS_gettid);
	wanted = !vcpu->wanted || vcpu->wanted == vcpu->tid;
	vm->ready += wanted;
	pthread_cond_broadcast(&vm->changed);
	while (wanted && !vm->go)
		pthread_cond_wait(&vm->changed, &vm->lock);
	pthread_mutex_unlock(&vm->lock);
	if (!wanted)
		return NULL;

	run_guest(vcpu);
	pthread_mutex_lock(&vm->lock);
	vm->going--;
	pthread_cond_broadcast(&vm->changed);
	pthread_mutex_unlock(&vm->lock);
	if (vcpu->number != options.dies)
		wait_for("quit");
	return NULL;
}

static void create_thread(pthread_t *thread, void *(*body)(void *), struct vcpu *vcpu)
{
	if (pthread_create(thread, NULL, body, vcpu) != 0)
		die("pthread_create");
}

/* The vCPU's thread, with the requested number if that is free. */
static void start_vcpu(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;
	bool wanted = vm->number == 0 && options.last_tid > 0;

	vcpu->wanted = wanted ? options.last_tid + 1 + vcpu->number : 0;
	for (int tries = 0; vcpu->wanted && tries < PID_TRIES; tries++) {
		int before = set_last_pid(vcpu->wanted - 1);

		vcpu->tid = 0;
		create_thread(&vcpu->thread, vcpu_thread, vcpu);
		set_last_pid(before);
		pthread_mutex_lock(&vm->lock);
		while (!vcpu->tid)
			pthread_cond_wait(&vm->changed, &vm->lock);
		pthread_mutex_unlock(&vm->lock);
		if (vcpu->tid == vcpu->wanted)
			return;
		pthread_join(vcpu->thread, NULL);
		usleep(POLL_US); /* the previous thread may end */
	}
	vcpu->wanted = 0;
	create_thread(&vcpu->thread, vcpu_thread, vcpu);
}

static void create_vcpu(struct vm *vm, int number, int kvm)
{
	struct vcpu *vcpu = &vm->vcpus[number];
	pthread_t thread;

	vcpu->vm = vm;
	vcpu->number = number;
	vcpu->fd = check(ioctl(vm->fd, KVM_CREATE_VCPU, number), "KVM_CREATE_VCPU");
	vcpu->run =
		mmap(NULL, (size_t)vm->run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED)
		die("mmap");
	for (unsigned int i = 0; i < arch.n_actions; i++)
		if (arch_does(i))
			vcpu->counts[i] = prime(vm->number, number, i) * options.rounds;
	arch_program(vcpu);
	arch_vcpu(vcpu, kvm);
	vcpu->wake_fd = check(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE), "eventfd");
	if (options.irqchip)
		create_thread(&thread, arch_waker, vcpu);
	start_vcpu(vcpu);
}

static void create_vm(struct vm *vm, int number)
{
	int kvm = check(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");

	vm->number = number;
	vm->fd = check(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	vm->run_bytes = check(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
	vm->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (vm->memory == MAP_FAILED)
		die("mmap");
	check(ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION,
		    &(struct kvm_userspace_memory_region){
			    .memory_size = MEMORY_BYTES,
			    .userspace_addr = (uint64_t)(uintptr_t)vm->memory }),
	      "KVM_SET_USER_MEMORY_REGION");
	arch_vm(vm);
	pthread_mutex_init(&vm->lock, NULL);
	pthread_cond_init(&vm->changed, NULL);
	vm->going = options.vcpus;
	for (int i = 0; i < options.vcpus; i++)
		create_vcpu(vm, i, kvm);
}

/*
 * Returns how often the kind will exit: the end is one exit, and so is each request for a wake-up.
 */
static uint32_t expected(const struct vcpu *vcpu, const char *kind)
{
	bool of_keys = strcmp(kind, arch.key_kind) == 0;
	uint32_t sum = of_keys ? 1 : 0;

	for (unsigned int i = 0; i < arch.n_actions; i++)
		if (strcmp(arch.actions[i].kind, kind) == 0)
			sum += vcpu->counts[i];
	return sum + (of_keys && options.irqchip ? vcpu->counts[arch.sleeps] : 0);
}

static void print_vcpu(FILE *out, const struct vcpu *vcpu)
{
	fprintf(out, "{\"vcpu\": %d, \"tid\": %d, \"counts\": {", vcpu->number, vcpu->tid);
	for (unsigned int i = 0; arch.kinds[i]; i++)
		fprintf(out, "%s\"%s\": %u", i ? ", " : "", arch.kinds[i],
			expected(vcpu, arch.kinds[i]));
	fprintf(out, "}, \"causes\": [[\"%s\", %llu, 1]", arch.key_detail,
		(unsigned long long)arch.end_key);
	if (options.irqchip)
		fprintf(out, ", [\"%s\", %llu, %u]", arch.key_detail,
			(unsigned long long)arch.wake_key, vcpu->counts[arch.sleeps]);
	for (unsigned int i = 0; i < arch.n_actions; i++)
		if (arch.actions[i].detail && vcpu->counts[i])
			fprintf(out, ", [\"%s\", %llu, %u]", arch.actions[i].detail,
				(unsigned long long)arch.actions[i].key, vcpu->counts[i]);
	fprintf(out, "]}");
}

/*
 * Writes the threads for a shell to read; each VM appends its own, and the parent waits for each in
 * turn.
 */
static void write_ids(const struct vm *vm)
{
	FILE *ids = fopen(path_of("ids"), "a");

	if (!ids)
		die("ids");
	fprintf(ids, "pid%d=%d\n", vm->number, getpid());
	for (int i = 0; i < options.vcpus; i++)
		fprintf(ids, "tid%d_%d=%d\n", vm->number, i, vm->vcpus[i].tid);
	if (fclose(ids) != 0)
		die("ids");
}

/* A VM's process: writes its expected exits into `to`, runs, reports the end, and waits. */
static void vm_main(int number, int to)
{
	static struct vm vm;
	char name[32]; /* of which 15 bytes count */
	FILE *out = fdopen(to, "w");

	snprintf(name, sizeof(name), "%s-vm%d", options.prefix, number);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	create_vm(&vm, number);
	pthread_mutex_lock(&vm.lock);
	while (vm.ready < options.vcpus)
		pthread_cond_wait(&vm.changed, &vm.lock);
	pthread_mutex_unlock(&vm.lock);
	write_ids(&vm);
	fprintf(out, "{\"name\": \"%s\", \"pid\": %d, \"vcpus\": [", name, getpid());
	for (int i = 0; i < options.vcpus; i++) {
		fputs(i ? ", " : "", out);
		print_vcpu(out, &vm.vcpus[i]);
	}
	fputs("]}\n", out);
	fflush(out);
	wait_for("go");
	pthread_mutex_lock(&vm.lock);
	vm.go = true;
	pthread_cond_broadcast(&vm.changed);
	while (vm.going > 0)
		pthread_cond_wait(&vm.changed, &vm.lock);
	pthread_mutex_unlock(&vm.lock);
	fputs("done\n", out);
	fflush(out);
	wait_for("quit");
	exit(0);
}

static FILE *start_vm(int number)
{
	bool wanted = number == 0 && options.last_pid > 0;
	int ends[2], before = 0;
	pid_t child;

	check(pipe(ends), "pipe");
	for (int tries = 0;; tries++) {
		if (wanted)
			before = set_last_pid(options.last_pid);
		child = check(fork(), "fork");
		if (wanted)
			set_last_pid(before); /* also in the child, before it starts any thread */
		if (child == 0 && wanted && getpid() != options.last_pid + 1)
			_exit(0);
		if (child == 0) {
			close(ends[0]);
			vm_main(number, ends[1]);
		}
		if (!wanted || child == options.last_pid + 1 || tries == PID_TRIES)
			break;
		waitpid(child, NULL, 0);
		usleep(POLL_US); /* the previous process may end */
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

/* Reads a line of a VM's process. Exits if the process ended without one. */
static char *line_of(FILE *vm, char *line, int size)
{
	if (!fgets(line, size, vm)) {
		fprintf(stderr, "workload: a VM's process ended\n");
		exit(1);
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "vms", required_argument, NULL, 'n' },
		{ "vcpus", required_argument, NULL, 'v' },
		{ "prefix", required_argument, NULL, 'N' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "dies", required_argument, NULL, 'd' },
		{ "last-pid", required_argument, NULL, 'l' },
		{ "last-tid", required_argument, NULL, 't' },
		{ "irqchip", no_argument, NULL, 'i' },
		{ "yield", no_argument, NULL, 'y' },
		{ "move", no_argument, NULL, 'm' },
		{ "no-hypercall", no_argument, NULL, 'h' },
		{ NULL },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 'n':
			options.vms = atoi(optarg);
			break;
		case 'v':
			options.vcpus = atoi(optarg);
			break;
		case 'r':
			options.rounds = (uint32_t)atoi(optarg);
			break;
		case 'N':
			options.prefix = optarg;
			break;
		case 'c':
			options.cpu = atoi(optarg);
			break;
		case 'd':
			options.dies = atoi(optarg);
			break;
		case 'l':
			options.last_pid = atoi(optarg);
			break;
		case 't':
			options.last_tid = atoi(optarg);
			break;
		case 'i':
			options.irqchip = true;
			break;
		case 'y':
			options.yield = true;
			break;
		case 'm':
			options.move = true;
			break;
		case 'h':
			options.no_hypercall = true;
			break;
		default:
			exit(2);
		}
	}
	options.dir = argv[optind];
	if (!options.dir || options.vms < 1 || options.vms > VMS_MAX || options.vcpus < 1 ||
	    options.vcpus > VCPUS_MAX || options.rounds < 1) {
		fprintf(stderr, "usage: workload [OPTION...] DIR\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static char line[1 << 16];
	FILE *vms[VMS_MAX], *out;
	char name[4096];

	parse(argc, argv);
	snprintf(name, sizeof(name), "%s/workload.json", options.dir);
	out = fopen(path_of("workload.new"), "w");
	if (!out)
		die(options.dir);
	fputs("{\"vms\": [", out);
	for (int i = 0; i < options.vms; i++) {
		fflush(out); /* or the child would write it again */
		vms[i] = start_vm(i);
		fprintf(out, "%s%s", i ? ", " : "", line_of(vms[i], line, sizeof(line)));
	}
	fprintf(out, "]}\n");
	if (fclose(out) != 0)
		die(options.dir);
	check(rename(path_of("workload.new"), name), name);
	for (int i = 0; i < options.vms; i++)
		line_of(vms[i], line, sizeof(line));
	check(open(path_of("done"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644), "done");
	while (wait(NULL) > 0)
		;
	return 0;
}
