/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual machines whose exits are known beforehand: how many of each kind, by port, MSR, leaf and
 * address; a prime number each, another for each vCPU. None of Ringside's code is in here. Each VM
 * is a process, each vCPU a thread of it, "CPU n/KVM", in real mode.
 *
 *	workload [OPTION...] DIR
 *
 *	DIR/workload.json	written when all is ready: processes, threads, what they will do
 *	DIR/ids			the same processes and threads for a shell: pid0=, tid0_1=, ...
 *	DIR/go			the guests start when it is there
 *	DIR/done		written when every guest has come to its end
 *	DIR/quit		threads and VMs stay, until it is there
 *
 * The last exit of each vCPU is an OUT to PORT_END, after which it does not enter again.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/kvm.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
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

#define VMS_MAX	      16
#define VCPUS_MAX     16
#define MEMORY_BYTES  0x10000 /* at gpa 0; what is above is no memory */
#define CODE_GPA      0x1000
#define CODE_STEP     0x800 /* of each vCPU */
#define HANDLER_GPA   0x800
#define STACK_STEP    0x100
#define STACK_GPA     0xf000
#define PRIME_FIRST   101
#define WAKE_VECTOR   0x40
#define WAKE_CLASS    0x10 /* vectors of the next priority are so much higher */
#define WAKE_US	      1000 /* how long a vCPU sleeps in HLT */
#define WAKE_AGAIN_MS 500
#define POLL_US	      5000
#define PID_TRIES     100

#define PORT_END  0x604
#define PORT_WAKE 0x605 /* "interrupt me in a moment" */

#define APIC_SVR    0xf0 /* SDM 10.9: bit 8 enables the local APIC */
#define APIC_SVR_ON 0x1ff

/* What a guest does in a loop: the kind of exit, what it is about, and the code. */
static const struct action {
	const char *kind;   /* as the expected counts have it */
	const char *detail; /* the cause's kind */
	uint64_t key;
	const char *code;
	unsigned char bytes;
} actions[] = {
#define CODE(text) text, sizeof(text) - 1
	{ "io", "pio write", 0x3f8, CODE("\xba\xf8\x03\xee") },	     /* mov dx, 0x3f8; out dx, al */
	{ "io", "pio write", 0x80, CODE("\xe6\x80") },		     /* out 0x80, al */
	{ "io", "pio read", 0x3fd, CODE("\xba\xfd\x03\xec") },	     /* mov dx, 0x3fd; in al, dx */
	{ "io", "pio read", 0x71, CODE("\xe4\x71") },		     /* in al, 0x71 */
	{ "cpuid", "cpuid", 0, CODE("\x66\x31\xc0\x0f\xa2") },	     /* xor eax, eax; cpuid */
	{ "cpuid", "cpuid", 1, CODE("\x66\xb8\x01\0\0\0\x0f\xa2") }, /* mov eax, 1; cpuid */
	{ "cpuid", "cpuid", 0x40000000, CODE("\x66\xb8\0\0\0\x40\x0f\xa2") },
	{ "rdmsr", "msr read", 0xfe, CODE("\x66\xb9\xfe\0\0\0\x0f\x32") },    /* MTRRcap */
	{ "rdmsr", "msr read", 0x1a0, CODE("\x66\xb9\xa0\x01\0\0\x0f\x32") }, /* MISC_ENABLE */
	/* mov ecx, 0x200; xor eax, eax; xor edx, edx; wrmsr: the first variable MTRR */
	{ "wrmsr", "msr write", 0x200, CODE("\x66\xb9\0\x02\0\0\x66\x31\xc0\x66\x31\xd2\x0f\x30") },
	{ "mmio", "mmio write", 0xd0000, CODE("\xa2\0\0") },	/* mov [0], al */
	{ "mmio", "mmio read", 0xd1008, CODE("\xa0\x08\x10") }, /* mov al, [0x1008] */
	{ "hlt", NULL, 0, CODE("\xf4") },			/* by user space, or as HLT_WAKE */
	{ "hypercall", "hypercall", 1000, NULL, 0 },		/* by the processor's maker */
};

/* mov dx, PORT_WAKE; out dx, al; sti; hlt; cli */
static const char hlt_wake[] = "\xba\x05\x06\xee\xfb\xf4\xfa";
/* mov eax, 1000; vmcall or vmmcall: no such hypercall, which KVM says and goes on */
static const char vmcall[] = "\x66\xb8\xe8\x03\0\0\x0f\x01\xc1";
static const char vmmcall[] = "\x66\xb8\xe8\x03\0\0\x0f\x01\xd9";

#define ACTIONS		 (sizeof(actions) / sizeof(*actions))
#define HLT_ACTION	 (ACTIONS - 2)
#define HYPERCALL_ACTION (ACTIONS - 1)

static struct options {
	int vms, vcpus;
	uint32_t rounds;
	int cpu;      /* all threads on this one; -1: anywhere */
	int dies;     /* this vCPU's threads end when their guests have; -1: none */
	int last_pid; /* the first process gets the one after it; 0: whichever */
	bool irqchip, yield, move, no_hypercall;
	const char *dir;
} options = { .vms = 1, .vcpus = 1, .rounds = 1, .cpu = -1, .dies = -1 };

struct vcpu {
	pthread_t thread;
	struct vm *vm;
	int number, fd, tid, wake_fd;
	uint32_t counts[ACTIONS]; /* in all rounds */
	volatile bool over;	  /* its guest has ended */
	struct kvm_run *run;
	struct kvm_lapic_state lapic;
};

struct vm {
	int number, fd, run_bytes;
	unsigned char *memory;
	struct vcpu vcpus[VCPUS_MAX];
	int ready; /* of the threads, under lock */
	int going; /* guests that are not at their end */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool go;
};

static void die(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int check(int result, const char *what)
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

/* Another prime for each action of each vCPU of each VM. */
static uint32_t prime(int vm, int vcpu, unsigned int action)
{
	uint32_t index = (uint32_t)(vm * options.vcpus + vcpu) * ACTIONS + action;
	uint32_t n = PRIME_FIRST;

	while (index-- > 0)
		do
			n++;
		while (!is_prime(n));
	return n;
}

static void action_code(unsigned int action, const char **code, size_t *bytes)
{
	uint32_t a = 0, b = 0, c = 0, d = 0;

	*code = actions[action].code;
	*bytes = actions[action].bytes;
	if (action == HLT_ACTION && options.irqchip) {
		*code = hlt_wake;
		*bytes = sizeof(hlt_wake) - 1;
	}
	if (action == HYPERCALL_ACTION) {
		__cpuid(0, a, b, c, d);
		*code = b == signature_INTEL_ebx ? vmcall : vmmcall;
		*bytes = sizeof(vmcall) - 1;
	}
}

/* Each action in a loop of its own, all of them `rounds` times, and the OUT that ends it. */
static void write_program(struct vcpu *vcpu)
{
	unsigned char *start = vcpu->vm->memory + CODE_GPA + vcpu->number * CODE_STEP, *p = start;
	const char *code;
	size_t bytes;

#define PUT(text)      (memcpy(p, text, sizeof(text) - 1), p += sizeof(text) - 1)
#define PUT_U32(value) (memcpy(p, &(uint32_t){ value }, 4), p += 4)
	PUT("\x66\xbe"); /* mov esi, rounds */
	PUT_U32(options.rounds);
	for (unsigned int i = 0; i < ACTIONS; i++) {
		if (vcpu->counts[i] == 0)
			continue;
		PUT("\x66\xbf"); /* mov edi, count */
		PUT_U32(vcpu->counts[i] / options.rounds);
		action_code(i, &code, &bytes);
		memcpy(p, code, bytes);
		p += bytes;
		PUT("\x66\x4f\x75"); /* dec edi; jnz back */
		*p = (unsigned char)-(int)(bytes + 4);
		p++;
	}
	PUT("\x66\x4e\x0f\x84\x03\0"); /* dec esi; jz over */
	PUT("\xe9");		       /* jmp back to the first loop */
	memcpy(p, &(uint16_t){ (uint16_t)(start + 6 - (p + 2)) }, 2);
	p += 2;
	PUT("\xba\x04\x06\xee\xf4"); /* mov dx, PORT_END; out dx, al; hlt */
	if (p - start > CODE_STEP)
		die("program too long");
#undef PUT
#undef PUT_U32
}

static void vcpu_state(struct vcpu *vcpu, int kvm)
{
	struct {
		struct kvm_cpuid2 head;
		struct kvm_cpuid_entry2 entries[256];
	} cpuid = { .head.nent = 256 };
	struct kvm_sregs sregs;
	struct kvm_regs regs = { .rflags = 2 };

	check(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &cpuid), "KVM_GET_SUPPORTED_CPUID");
	check(ioctl(vcpu->fd, KVM_SET_CPUID2, &cpuid), "KVM_SET_CPUID2");
	check(ioctl(vcpu->fd, KVM_GET_SREGS, &sregs), "KVM_GET_SREGS");
	sregs.cs.selector = 0;
	sregs.cs.base = 0;
	sregs.ds.selector = 0xd000;
	sregs.ds.base = 0xd0000;
	check(ioctl(vcpu->fd, KVM_SET_SREGS, &sregs), "KVM_SET_SREGS");
	regs.rip = CODE_GPA + (uint64_t)vcpu->number * CODE_STEP;
	regs.rsp = STACK_GPA - (uint64_t)vcpu->number * STACK_STEP;
	check(ioctl(vcpu->fd, KVM_SET_REGS, &regs), "KVM_SET_REGS");
	if (!options.irqchip)
		return;
	check(ioctl(vcpu->fd, KVM_SET_MP_STATE, &(struct kvm_mp_state){ KVM_MP_STATE_RUNNABLE }),
	      "KVM_SET_MP_STATE");
	check(ioctl(vcpu->fd, KVM_GET_LAPIC, &vcpu->lapic), "KVM_GET_LAPIC");
	memcpy(vcpu->lapic.regs + APIC_SVR, &(uint32_t){ APIC_SVR_ON }, 4);
}

/*
 * Interrupts the vCPU each time that it asked for it, a moment later; and again where it does not
 * go on: QEMU's SVM forgets now and then that an interrupt must wait for the HLT behind STI. The
 * first is in service then, for no guest says that it is over, so each that follows is of a higher
 * priority. One that is not needed waits in the APIC, and is gone with the next asking.
 */
static void *waker(void *arg)
{
	struct vcpu *vcpu = arg;
	struct pollfd again = { .fd = vcpu->wake_fd, .events = POLLIN };
	uint64_t asked;

	while (read(vcpu->wake_fd, &asked, sizeof(asked)) == sizeof(asked)) {
		struct kvm_msi msi = {
			.address_lo = 0xfee00000u | (uint32_t)vcpu->number << 12,
			.data = WAKE_VECTOR,
		};

		do {
			usleep(WAKE_US);
			check(ioctl(vcpu->vm->fd, KVM_SIGNAL_MSI, &msi), "KVM_SIGNAL_MSI");
			msi.data += WAKE_CLASS;
		} while (msi.data <= 0xff && !poll(&again, 1, WAKE_AGAIN_MS) && !vcpu->over);
	}
	return NULL;
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
	struct kvm_run *run = vcpu->run;
	uint32_t exits = 0;

	for (;;) {
		if (ioctl(vcpu->fd, KVM_RUN, 0) < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			die("KVM_RUN");
		}
		exits++;
		if (run->exit_reason == KVM_EXIT_IO && run->io.port == PORT_END) {
			vcpu->over = true;
			return;
		}
		if (run->exit_reason == KVM_EXIT_IO && run->io.port == PORT_WAKE) {
			/* As it was: the interrupt before is over, though no guest said so. */
			check(ioctl(vcpu->fd, KVM_SET_LAPIC, &vcpu->lapic), "KVM_SET_LAPIC");
			check((int)write(vcpu->wake_fd, &(uint64_t){ 1 }, 8), "wake");
		} else if (run->exit_reason != KVM_EXIT_IO && run->exit_reason != KVM_EXIT_MMIO &&
			   run->exit_reason != KVM_EXIT_HLT) {
			fprintf(stderr, "workload: vCPU %d: exit reason %u\n", vcpu->number,
				run->exit_reason);
			exit(1);
		}
		if (options.yield)
			sched_yield();
		if (options.move && exits % 16 == 0)
			pin((int)(exits / 16 % (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)));
	}
}

static void *vcpu_thread(void *arg)
{
	struct vcpu *vcpu = arg;
	struct vm *vm = vcpu->vm;
	char name[32]; /* of which 15 bytes count */

	snprintf(name, sizeof(name), "CPU %d/KVM", vcpu->number);
	pthread_setname_np(pthread_self(), name);
	if (options.cpu >= 0)
		pin(options.cpu);
	pthread_mutex_lock(&vm->lock);
	vcpu->tid = (int)syscall(SYS_gettid);
	vm->ready++;
	pthread_cond_broadcast(&vm->changed);
	while (!vm->go)
		pthread_cond_wait(&vm->changed, &vm->lock);
	pthread_mutex_unlock(&vm->lock);

	run_guest(vcpu);
	pthread_mutex_lock(&vm->lock);
	vm->going--;
	pthread_cond_broadcast(&vm->changed);
	pthread_mutex_unlock(&vm->lock);
	if (vcpu->number != options.dies)
		wait_for("quit");
	return NULL;
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
	for (unsigned int i = 0; i < ACTIONS; i++)
		if (i != HYPERCALL_ACTION || !options.no_hypercall)
			vcpu->counts[i] = prime(vm->number, number, i) * options.rounds;
	write_program(vcpu);
	vcpu_state(vcpu, kvm);
	vcpu->wake_fd = check(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE), "eventfd");
	if (options.irqchip && pthread_create(&thread, NULL, waker, vcpu) != 0)
		die("pthread_create");
	if (pthread_create(&vcpu->thread, NULL, vcpu_thread, vcpu) != 0)
		die("pthread_create");
}

static void create_vm(struct vm *vm, int number)
{
	int kvm = check(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");

	vm->number = number;
	vm->fd = check(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	vm->run_bytes = check(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
	ioctl(vm->fd, KVM_SET_TSS_ADDR, 0xfffbd000); /* VMX alone needs it */
	if (options.irqchip)
		check(ioctl(vm->fd, KVM_CREATE_IRQCHIP, 0), "KVM_CREATE_IRQCHIP");
	vm->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (vm->memory == MAP_FAILED)
		die("mmap");
	check(ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION,
		    &(struct kvm_userspace_memory_region){
			    .memory_size = MEMORY_BYTES,
			    .userspace_addr = (uint64_t)(uintptr_t)vm->memory }),
	      "KVM_SET_USER_MEMORY_REGION");
	for (int vector = WAKE_VECTOR; vector <= 0xff; vector += WAKE_CLASS)
		memcpy(vm->memory + vector * 4, &(uint32_t){ HANDLER_GPA }, 4);
	vm->memory[HANDLER_GPA] = 0xcf; /* iret */
	pthread_mutex_init(&vm->lock, NULL);
	pthread_cond_init(&vm->changed, NULL);
	vm->going = options.vcpus;
	for (int i = 0; i < options.vcpus; i++)
		create_vcpu(vm, i, kvm);
}

/* How often the kind will exit; the end is an io exit too, and so is each wish to be woken. */
static uint32_t expected(const struct vcpu *vcpu, const char *kind)
{
	bool is_io = strcmp(kind, "io") == 0;
	uint32_t sum = is_io ? 1 : 0;

	for (unsigned int i = 0; i < ACTIONS; i++)
		if (strcmp(actions[i].kind, kind) == 0)
			sum += vcpu->counts[i];
	return sum + (is_io && options.irqchip ? vcpu->counts[HLT_ACTION] : 0);
}

static void print_vcpu(FILE *out, const struct vcpu *vcpu)
{
	static const char *const kinds[] = { "io",   "cpuid", "rdmsr",	  "wrmsr",
					     "mmio", "hlt",   "hypercall" };

	fprintf(out, "{\"vcpu\": %d, \"tid\": %d, \"counts\": {", vcpu->number, vcpu->tid);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		fprintf(out, "%s\"%s\": %u", i ? ", " : "", kinds[i], expected(vcpu, kinds[i]));
	fprintf(out, "}, \"causes\": [[\"pio write\", %d, 1]", PORT_END);
	if (options.irqchip)
		fprintf(out, ", [\"pio write\", %d, %u]", PORT_WAKE, vcpu->counts[HLT_ACTION]);
	for (unsigned int i = 0; i < ACTIONS; i++)
		if (actions[i].detail && vcpu->counts[i])
			fprintf(out, ", [\"%s\", %llu, %u]", actions[i].detail,
				(unsigned long long)actions[i].key, vcpu->counts[i]);
	fprintf(out, "]}");
}

/* As a shell reads it; each VM adds its own, and the parent waits for one after the other. */
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

/* A VM's process: says what it will do into `to`, does it, says so, and waits. */
static void vm_main(int number, int to)
{
	static struct vm vm;
	char name[32]; /* of which 15 bytes count */
	FILE *out = fdopen(to, "w");

	snprintf(name, sizeof(name), "bed-vm%d", number);
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

/* The process that comes next gets the one after `pid`, if nobody else forks meanwhile. */
static void set_last_pid(int pid)
{
	FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!last || fprintf(last, "%d", pid) < 0 || fclose(last) != 0)
		die("/proc/sys/kernel/ns_last_pid");
}

static FILE *start_vm(int number)
{
	bool wanted = number == 0 && options.last_pid > 0;
	pid_t child;
	int ends[2];

	check(pipe(ends), "pipe");
	for (int tries = 0;; tries++) {
		if (wanted)
			set_last_pid(options.last_pid);
		child = check(fork(), "fork");
		if (child == 0 && wanted && getpid() != options.last_pid + 1)
			_exit(0);
		if (child == 0) {
			close(ends[0]);
			vm_main(number, ends[1]);
		}
		if (!wanted || child == options.last_pid + 1 || tries == PID_TRIES)
			break;
		waitpid(child, NULL, 0);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

/* A line of a VM's process; it ended without one: so do we. */
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
		{ "rounds", required_argument, NULL, 'r' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "dies", required_argument, NULL, 'd' },
		{ "last-pid", required_argument, NULL, 'l' },
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
		case 'c':
			options.cpu = atoi(optarg);
			break;
		case 'd':
			options.dies = atoi(optarg);
			break;
		case 'l':
			options.last_pid = atoi(optarg);
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
