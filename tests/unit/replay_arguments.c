/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU arguments that a recording accepts, and those that it refuses, with the reason.
 * tests/replay/machines.test shows the effect of accepted ones on a guest.
 */
#include "../test.h"

#include "replay/arguments.h"

#define WORDS(...)                                                                                 \
	(int)(sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *)), (char *[])                      \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static struct rs_error *read_words(int count, char *words[], struct rs_arguments *a)
{
	return rs_arguments_read(count, words, a);
}

TEST(accepted_arguments)
{
	struct rs_arguments a;

	REQUIRE_OK(read_words(WORDS("-kernel", "k", "--initrd", "i", "-append", "quiet panic=1",
				    "-m", "1G", "-cpu", "EPYC,+svm", "-smp", "1", "-accel", "tcg",
				    "-M", "pc", "-rtc", "base=2026-01-31T12:00:00,clock=vm",
				    "-drive", "file=a.img,format=raw,if=ide", "-nic", "none",
				    "-display", "none", "-nographic", "-no-reboot"),
			      &a));
	CHECK_STR(a.kernel, "k");
	CHECK_STR(a.initrd, "i");
	CHECK_STR(a.append, "quiet panic=1");
	CHECK_STR(a.cpu, "EPYC,+svm");
	CHECK_STR(a.date, "2026-01-31T12:00:00");
	CHECK_STR(a.disk, "a.img");
	CHECK_EQ_U64(a.memory_mib, 1024);
	rs_arguments_deinit(&a);
	REQUIRE_OK(read_words(WORDS("-hda", "b.img", "-m", "size=64M"), &a));
	CHECK_STR(a.disk, "b.img");
	CHECK_EQ_U64(a.memory_mib, 64);
	rs_arguments_deinit(&a);
	REQUIRE_OK(rs_arguments_read(0, NULL, &a));
	CHECK(!a.kernel && !a.disk && !a.memory_mib);
	rs_arguments_deinit(&a);
}

static const struct {
	char *words[2];
	const char *why;
} refused[] = {
	{ { "-smp", "2" }, "one processor" },
	{ { "-smp", "1,maxcpus=2" }, "one processor" },
	{ { "-accel", "kvm" }, "only TCG in one thread" },
	{ { "-accel", "tcg,thread=multi" }, "only TCG in one thread" },
	{ { "-enable-kvm" }, "KVM does not count instructions" },
	{ { "-cpu", "host" }, "needs KVM" },
	{ { "-cpu", "host,+vmx" }, "needs KVM" },
	{ { "-cpu", "max -evil" }, "name of a processor" },
	{ { "-M", "q35" }, "machine pc" },
	{ { "-machine", "pc,accel=kvm" }, "machine pc" },
	{ { "-m", "64,slots=2,maxmem=1G" }, "without other options" },
	{ { "-m", "1" }, "between 32 and 3072 MiB" },
	{ { "-m", "99999999999G" }, "without other options" },
	{ { "-rtc", "base=localtime" }, "would be the host's" },
	{ { "-rtc", "base=2026-01-31T12:00:00" }, "would be the host's" },
	{ { "-rtc", "base=2026-01-31T12:00:00,clock=rt" }, "would be the host's" },
	{ { "-rtc", "base=2026-01-31 12:00:00,clock=vm" }, "would be the host's" },
	{ { "-drive", "file=a.qcow2,format=qcow2" }, "format=raw,if=ide" },
	{ { "-drive", "file=a,if=virtio" }, "format=raw,if=ide" },
	{ { "-drive", "format=raw" }, "file=IMAGE" },
	{ { "-drive", "file=a,file.locking=off" }, "format=raw,if=ide" },
	{ { "-hda", "a,b" }, "no path with a comma" },
	{ { "-hdb", "b.img" }, "only the disk" },
	{ { "-hdc", "b.img" }, "only the disk" },
	{ { "-hdd", "b.img" }, "only the disk" },
	{ { "-cdrom", "a.iso" }, "only the disk" },
	{ { "-fda", "a" }, "only the disk" },
	{ { "-sd", "a" }, "only the disk" },
	{ { "-pflash", "a" }, "only the disk" },
	{ { "-blockdev", "a" }, "only the disk" },
	{ { "-device", "virtio-net-pci" }, "packets arrive" },
	{ { "-device", "e1000" }, "packets arrive" },
	{ { "-device", "rtl8139" }, "packets arrive" },
	{ { "-device", "vhost-vsock-pci" }, "vhost" },
	{ { "-device", "usb-host" }, "USB devices" },
	{ { "-device", "vfio-pci" }, "device of the host" },
	{ { "-device", "nvme,drive=d" }, "power-off" },
	{ { "-device", "virtio-rng-pci" }, "random bytes" },
	{ { "-device", "virtio-blk-pci,drive=d" }, "only the disk" },
	{ { "-net", "user" }, "packets arrive" },
	{ { "-nic", "user" }, "packets arrive" },
	{ { "-netdev", "user,id=n" }, "packets arrive" },
	{ { "-usb" }, "USB devices" },
	{ { "-usbdevice", "tablet" }, "USB devices" },
	{ { "-display", "gtk" }, "only none" },
	{ { "-vga", "std" }, "only none" },
	{ { "-monitor", "stdio" }, "only none" },
	{ { "-parallel", "stdio" }, "only none" },
	{ { "-icount", "shift=1" }, "the recorder" },
	{ { "-record", "x" }, "the recorder" },
	{ { "-replay", "x" }, "the recorder" },
	{ { "-S" }, "the machine's channels" },
	{ { "-s" }, "the machine's channels" },
	{ { "-gdb", "tcp::1" }, "the machine's channels" },
	{ { "-qmp", "stdio" }, "the machine's channels" },
	{ { "-qmp-pretty", "stdio" }, "the machine's channels" },
	{ { "-mon", "c" }, "the machine's channels" },
	{ { "-chardev", "stdio,id=c" }, "the machine's channels" },
	{ { "-no-shutdown" }, "would never end" },
	{ { "-daemonize" }, "end with its recorder" },
	{ { "-serial", "stdio" }, "REC/console" },
	{ { "-debugcon", "stdio" }, "REC/console" },
	{ { "-virtioconsole", "stdio" }, "REC/console" },
	{ { "-audiodev", "alsa" }, "external input" },
	{ { "-audio", "alsa" }, "external input" },
	{ { "-spice", "port=1" }, "a display" },
	{ { "-vnc", ":1" }, "a display" },
	{ { "-virtfs", "local" }, "--guest-dir" },
	{ { "-fsdev", "local" }, "--guest-dir" },
	{ { "-tpmdev", "passthrough" }, "external input" },
	{ { "-global", "a.b=c" }, "properties of devices" },
	{ { "-loadvm", "a" }, "ringside replay snapshot" },
	{ { "-incoming", "tcp" }, "ringside replay snapshot" },
	{ { "-object", "rng-random" }, "RAM" },
	{ { "-mem-path", "/tmp" }, "RAM" },
	{ { "-plugin", "a.so" }, "the same in each replay" },
	{ { "-frobnicate" }, "-frobnicate is not verified to replay; these are: -kernel" },
	{ { "image" }, "image is not verified" },
	{ { "-" }, "verified to replay" },
	{ { "" }, "verified to replay" },
	{ { "-kernel" }, "-kernel needs a value" },
	{ { "-drive" }, "-drive needs a value" },
};

TEST(refused_arguments)
{
	struct rs_arguments a;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CHECK_ERR(rs_arguments_read(refused[i].words[1] ? 2 : 1, refused[i].words, &a),
			  RS_USAGE, refused[i].why);
	/* The previous values are restored. */
	CHECK_ERR(read_words(WORDS("-hda", "a.img", "-hda", "b.img"), &a), RS_USAGE, "one disk");
	CHECK_ERR(read_words(WORDS("-rtc", "base=2026-01-31T12:00:00,clock=vm", "-S"), &a),
		  RS_USAGE, "channels");
}

TEST(values_of_a_recording)
{
	CHECK(rs_arguments_is_cpu("max"));
	CHECK(rs_arguments_is_cpu("Haswell-noTSX,-avx2,model-id=x"));
	CHECK(!rs_arguments_is_cpu(""));
	CHECK(!rs_arguments_is_cpu("a b"));
	CHECK(!rs_arguments_is_cpu("a/b"));
	CHECK(rs_arguments_is_date("2026-01-31T12:00:00"));
	CHECK(!rs_arguments_is_date("2026-01-31T12:00:0"));
	CHECK(!rs_arguments_is_date("2026-01-31T12:00:00,clock=host"));
	CHECK(!rs_arguments_is_date(""));
}
