/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel module for tests. It has the devices that ACRN's modules have on a service VM, and a
 * device that plays the part of ACRN's hypervisor: commands written to /dev/acrn_hypervisor fill
 * the rings as the hypervisor does.
 *
 *	/dev/acrn_trace_N	mmap: the shared_buf of physical CPU N, 32-byte elements
 *	/dev/acrn_hvlog_cur_N	read: its log, one 80-byte element each time; 0: empty
 *	/dev/acrn_hvlog_last_N	the same for the previous boot
 *	/dev/acrn_hypervisor	write: a command; read: the result of the last one
 *
 * Each device has one opener; further ones get EBUSY. As with ACRN's modules, a mapping counts as
 * an open device until it is unmapped. Layout and rules are ACRN's: sbuf_put() counts nothing when
 * a ring is full, positions are byte offsets, one element stays free, "last" is the magic without
 * its lowest bit. Commands:
 *
 *	trace CPU COUNT	VM_EXIT with the reasons 0, 1, ..., COUNT - 1, counted over all commands
 *	anew CPU	initializes a CPU's trace ring again, as a restarted hypervisor does
 *	break CPU	corrupts the ring's header
 *	log CPU TEXT	writes a line with the next sequence number
 *	crash		turns the logs into those of the last boot
 *
 * Only tests/acrn/device.full builds it, against a kernel's headers.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/uaccess.h>

#define MAGIC	     0x5aa57aa71aa13aa3ULL
#define MAGIC_LAST   (MAGIC & ~1ULL)
#define CPUS	     2
#define TRACE_BYTES  (1u << 20)
#define LOG_BYTES    (64u << 10)
#define TRACE_ENTRY  32u
#define LOG_ENTRY    80u
#define LOG_TEXT     320u
#define COMMAND_MAX  512u
#define TRACE_2L     2ULL
#define TRACE_VMEXIT 0x10ULL

struct shared_buf {
	u64 magic;
	u32 ele_num, ele_size, head, tail;
	u64 flags;
	u32 overrun_cnt, size, padding[6];
};

struct one {
	struct miscdevice misc;
	char name[24];
	struct shared_buf *ring;
	unsigned int order;
	atomic_t opened;
};

static struct one traces[CPUS], logs[2][CPUS]; /* logs: current, last */
static DEFINE_MUTEX(lock);		       /* commands and their results */
static u64 emitted[CPUS], refused[CPUS];
static u32 sequence;

/* ---- rings ---------------------------------------------------------------------------------- */

static void ring_construct(struct shared_buf *ring, u32 bytes, u32 ele_size)
{
	memset(ring, 0, sizeof(*ring));
	ring->ele_num = (bytes - sizeof(*ring)) / ele_size;
	ring->ele_size = ele_size;
	ring->size = ring->ele_num * ele_size;
	smp_store_release(&ring->magic, MAGIC);
}

static bool ring_put(struct shared_buf *ring, const void *element)
{
	u32 tail = ring->tail, next = tail + ring->ele_size;

	if (next >= ring->size)
		next -= ring->size;
	if (next == smp_load_acquire(&ring->head))
		return false;
	memcpy((u8 *)(ring + 1) + tail, element, ring->ele_size);
	smp_store_release(&ring->tail, next);
	return true;
}

static u32 ring_get(struct shared_buf *ring, void *element)
{
	u32 head = ring->head, next = head + ring->ele_size;

	if (head == smp_load_acquire(&ring->tail))
		return 0;
	memcpy(element, (u8 *)(ring + 1) + head, ring->ele_size);
	smp_store_release(&ring->head, next >= ring->size ? next - ring->size : next);
	return ring->ele_size;
}

/* ---- devices -------------------------------------------------------------------------------- */

static struct one *one_of(struct file *file)
{
	return container_of(file->private_data, struct one, misc);
}

static int one_open(struct inode *inode, struct file *file)
{
	return atomic_cmpxchg(&one_of(file)->opened, 0, 1) ? -EBUSY : 0;
}

static int one_release(struct inode *inode, struct file *file)
{
	atomic_set(&one_of(file)->opened, 0);
	return 0;
}

static int trace_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct one *one = one_of(file);
	unsigned long bytes = vma->vm_end - vma->vm_start;

	if (vma->vm_pgoff || bytes > PAGE_SIZE << one->order)
		return -EINVAL;
	return remap_pfn_range(vma, vma->vm_start, virt_to_phys(one->ring) >> PAGE_SHIFT, bytes,
			       vma->vm_page_prot);
}

static ssize_t log_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	u8 element[LOG_ENTRY];
	u32 n = 0;

	if (bytes < sizeof(element))
		return -EINVAL;
	mutex_lock(&lock);
	n = ring_get(one_of(file)->ring, element);
	mutex_unlock(&lock);
	return n && copy_to_user(to, element, n) ? -EFAULT : n;
}

static const struct file_operations trace_ops = {
	.owner = THIS_MODULE,
	.open = one_open,
	.release = one_release,
	.mmap = trace_mmap,
};

static const struct file_operations log_ops = {
	.owner = THIS_MODULE,
	.open = one_open,
	.release = one_release,
	.read = log_read,
};

/* ---- the hypervisor ------------------------------------------------------------------------- */

static void trace(unsigned int cpu, u64 count)
{
	for (; count; count--) {
		u64 entry[4] = { rdtsc_ordered(), TRACE_VMEXIT | TRACE_2L << 48 | (u64)cpu << 56,
				 emitted[cpu]++ };

		refused[cpu] += !ring_put(traces[cpu].ring, entry);
	}
}

static void log_line(unsigned int cpu, const char *text)
{
	static char line[LOG_TEXT + LOG_ENTRY];
	size_t n, at;

	memset(line, 0, sizeof(line));
	sequence++;
	n = scnprintf(line, LOG_TEXT, "[%lluus][cpu=%u][vm0:vcpu%u][sev=4][seq=%u]:%s",
		      1000000ULL + sequence, cpu, cpu, sequence, text);
	for (at = 0; at < n; at += LOG_ENTRY)
		ring_put(logs[0][cpu].ring, line + at);
}

static void crash(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < CPUS; cpu++) {
		swap(logs[0][cpu].ring, logs[1][cpu].ring);
		logs[1][cpu].ring->magic = MAGIC_LAST;
		logs[1][cpu].ring->head = 0;
		ring_construct(logs[0][cpu].ring, LOG_BYTES, LOG_ENTRY);
	}
	sequence = 0;
}

static int command(char *text)
{
	unsigned int cpu = 0;
	int rest = 0;
	u64 count;

	if (!strcmp(text, "crash")) {
		crash();
		return 0;
	}
	if (sscanf(text, "trace %u %llu", &cpu, &count) == 2 && cpu < CPUS)
		trace(cpu, count);
	else if (sscanf(text, "anew %u", &cpu) == 1 && cpu < CPUS)
		ring_construct(traces[cpu].ring, TRACE_BYTES, TRACE_ENTRY);
	else if (sscanf(text, "break %u", &cpu) == 1 && cpu < CPUS)
		memset(traces[cpu].ring, 0xa5, sizeof(struct shared_buf));
	else if (sscanf(text, "log %u %n", &cpu, &rest) == 1 && rest && cpu < CPUS)
		log_line(cpu, text + rest);
	else
		return -EINVAL;
	return 0;
}

static ssize_t hypervisor_write(struct file *file, const char __user *from, size_t bytes,
				loff_t *at)
{
	char *text;
	int failed;

	if (bytes > COMMAND_MAX)
		return -EINVAL;
	text = memdup_user_nul(from, bytes);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&lock);
	failed = command(strim(text));
	mutex_unlock(&lock);
	kfree(text);
	return failed ? failed : bytes;
}

/* For each CPU: the records emitted, refused, and waiting in the ring. */
static ssize_t hypervisor_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	char text[256];
	unsigned int cpu;
	int n = 0;

	mutex_lock(&lock);
	for (cpu = 0; cpu < CPUS; cpu++) {
		const struct shared_buf *ring = traces[cpu].ring;
		u32 head = smp_load_acquire(&ring->head), tail = ring->tail;

		n += scnprintf(
			text + n, sizeof(text) - n, "cpu %u emitted %llu refused %llu waiting %u\n",
			cpu, emitted[cpu], refused[cpu],
			(tail >= head ? tail - head : ring->size - head + tail) / TRACE_ENTRY);
	}
	mutex_unlock(&lock);
	return simple_read_from_buffer(to, bytes, at, text, n);
}

static const struct file_operations hypervisor_ops = {
	.owner = THIS_MODULE,
	.write = hypervisor_write,
	.read = hypervisor_read,
};

static struct miscdevice hypervisor = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "acrn_hypervisor",
	.fops = &hypervisor_ops,
};

/* ---- load and unload ------------------------------------------------------------------------ */

static int one_add(struct one *one, const char *name, unsigned int cpu, u32 bytes, u32 ele_size,
		   const struct file_operations *ops)
{
	int failed;

	one->order = get_order(bytes);
	one->ring = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, one->order);
	if (!one->ring)
		return -ENOMEM;
	ring_construct(one->ring, bytes, ele_size);
	snprintf(one->name, sizeof(one->name), "%s_%u", name, cpu);
	one->misc.minor = MISC_DYNAMIC_MINOR;
	one->misc.name = one->name;
	one->misc.fops = ops;
	failed = misc_register(&one->misc);
	if (failed) {
		free_pages((unsigned long)one->ring, one->order);
		one->ring = NULL;
	}
	return failed;
}

static void one_remove(struct one *one)
{
	if (!one->ring)
		return;
	misc_deregister(&one->misc);
	free_pages((unsigned long)one->ring, one->order);
}

static void remove_all(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < CPUS; cpu++) {
		one_remove(&traces[cpu]);
		one_remove(&logs[0][cpu]);
		one_remove(&logs[1][cpu]);
	}
}

static int __init acrn_init(void)
{
	unsigned int cpu;
	int failed = 0;

	for (cpu = 0; cpu < CPUS && !failed; cpu++) {
		failed = one_add(&traces[cpu], "acrn_trace", cpu, TRACE_BYTES, TRACE_ENTRY,
				 &trace_ops);
		if (!failed)
			failed = one_add(&logs[0][cpu], "acrn_hvlog_cur", cpu, LOG_BYTES, LOG_ENTRY,
					 &log_ops);
		if (!failed)
			failed = one_add(&logs[1][cpu], "acrn_hvlog_last", cpu, LOG_BYTES,
					 LOG_ENTRY, &log_ops);
	}
	if (!failed)
		failed = misc_register(&hypervisor);
	if (failed)
		remove_all();
	return failed;
}

static void __exit acrn_exit(void)
{
	misc_deregister(&hypervisor);
	remove_all();
}

module_init(acrn_init);
module_exit(acrn_exit);

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("ACRN's trace and log devices, for tests");
