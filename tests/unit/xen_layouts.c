/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each probe of xdt, in each layout that Xen has had for it, from literal words: name, arguments,
 * units, context. The expected results follow xdt's documentation; the words follow the emitting
 * code (xen/arch/x86, xen/common/sched). A test checks that none is missing. Among them are the
 * twelve in which xdt itself is wrong: cr-write, msr-read, trap, adjdom, hypercall, records-lost,
 * fault-not-shadow, fixup, emulate, forced-invalid-op, paging-fixup, pte-write-emul.
 */
#include "xen_kit.h"

#include "event/catalogue.h"
#include <ringside/record.h>

#define STAMP 3000 /* of the record under test */

struct sample {
	uint32_t event;
	const char *words; /* hexadecimal */
	const char *context, *line;
};

/* The context before the record is domain 1, vcpu 2. */
static const struct sample samples[] = {
	/* sched: dom, vcpu */
	{ 0x28006, "3 1", "d1/v2", "xdt:sched::block domain=3 vcpu=1" },
	{ 0x28003, "3 1", "d1/v2", "xdt:sched::sleep domain=3 vcpu=1" },
	{ 0x28004, "3 1", "d1/v2", "xdt:sched::wake domain=3 vcpu=1" },
	{ 0x28005, "3 1", "d1/v2", "xdt:sched::yield domain=3 vcpu=1" },
	{ 0x28001, "3 1", "d1/v2", "xdt:sched::add domain=3 vcpu=1" },
	{ 0x28001, "3", "d1/v2", "xdt:sched::add domain=3 vcpu=-1" },
	{ 0x28009, "3", "d1/v2", "xdt:sched::adjdom domain=3" },
	{ 0x28007, "3 1 0", "d1/v2", "xdt:sched::shutdown-poweroff domain=3 vcpu=1" },
	{ 0x28007, "3 1 1", "d1/v2", "xdt:sched::shutdown-reboot domain=3 vcpu=1" },
	{ 0x28007, "3 1 2", "d1/v2", "xdt:sched::shutdown-suspend domain=3 vcpu=1" },
	{ 0x28007, "3 1 3", "d1/v2", "xdt:sched::shutdown-crash domain=3 vcpu=1" },
	{ 0x28007, "3 1 4", "d1/v2", "xen:sched::shutdown domain=3 vcpu=1 reason=watchdog" },
	/* the numbers before Xen 3.3 */
	{ 0x2f006, "3 1", "d1/v2", "xdt:sched::block domain=3 vcpu=1" },
	{ 0x2f003, "3 1", "d1/v2", "xdt:sched::sleep domain=3 vcpu=1" },
	{ 0x2f004, "3 1", "d1/v2", "xdt:sched::wake domain=3 vcpu=1" },
	{ 0x2f005, "3 1", "d1/v2", "xdt:sched::yield domain=3 vcpu=1" },
	{ 0x2f001, "3 1", "d1/v2", "xdt:sched::add domain=3 vcpu=1" },
	{ 0x2f001, "3", "d1/v2", "xdt:sched::add domain=3 vcpu=-1" },
	{ 0x2f009, "3", "d1/v2", "xdt:sched::adjdom domain=3" },
	{ 0x2f007, "3 1 0", "d1/v2", "xdt:sched::shutdown-poweroff domain=3 vcpu=1" },
	{ 0x2f007, "3 1 1", "d1/v2", "xdt:sched::shutdown-reboot domain=3 vcpu=1" },
	{ 0x2f007, "3 1 2", "d1/v2", "xdt:sched::shutdown-suspend domain=3 vcpu=1" },
	{ 0x2f007, "3 1 3", "d1/v2", "xdt:sched::shutdown-crash domain=3 vcpu=1" },
	/* off-cpu has the context before the switch, on-cpu that after it */
	{ 0x2800e, "1 2 4d2", "d1/v2", "xdt:sched::off-cpu domain=1 vcpu=2 runtime=1234ns" },
	{ 0x2800e, "7fff 0 4d2", "idle/v0",
	  "xdt:sched::idle-off-cpu domain=32767 vcpu=0 runtime=1234ns" },
	{ 0x2800f, "3 1 4d2 989680", "d3/v1",
	  "xdt:sched::on-cpu domain=3 vcpu=1 wait=1234ns slice=10000000ns" },
	{ 0x2800f, "7fff 0 4d2 989680", "idle/v0",
	  "xdt:sched::idle-on-cpu domain=32767 vcpu=0 wait=1234ns slice=10000000ns" },
	{ 0x2f00e, "1 2 4d2", "d1/v2", "xdt:sched::off-cpu domain=1 vcpu=2 runtime=1234ns" },
	{ 0x2f00e, "7fff 0 4d2", "idle/v0",
	  "xdt:sched::idle-off-cpu domain=32767 vcpu=0 runtime=1234ns" },
	{ 0x2f00f, "3 1 4d2 989680", "d3/v1",
	  "xdt:sched::on-cpu domain=3 vcpu=1 wait=1234ns slice=10000000ns" },
	{ 0x2f00f, "7fff 0 4d2 989680", "idle/v0",
	  "xdt:sched::idle-on-cpu domain=32767 vcpu=0 wait=1234ns slice=10000000ns" },
	/* runstates: {u16 vcpu, u16 domain} */
	{ 0x21001, "30001", "d3/v1",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=running new=running" },
	{ 0x21011, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=running new=runnable" },
	{ 0x21021, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=running new=blocked" },
	{ 0x21031, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=running new=offline" },
	{ 0x21101, "30001", "d3/v1",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=runnable new=running" },
	{ 0x21111, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=runnable new=runnable" },
	{ 0x21121, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=runnable new=blocked" },
	{ 0x21131, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=runnable new=offline" },
	{ 0x21201, "30001", "d3/v1",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=blocked new=running" },
	{ 0x21211, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=blocked new=runnable" },
	{ 0x21221, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=blocked new=blocked" },
	{ 0x21231, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=blocked new=offline" },
	{ 0x21301, "30001", "d3/v1",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=offline new=running" },
	{ 0x21311, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=offline new=runnable" },
	{ 0x21321, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=offline new=blocked" },
	{ 0x21331, "30001", "d1/v2",
	  "xdt:sched::runstate-change domain=3 vcpu=1 old=offline new=offline" },
	{ 0x21002, "30001", "d3/v1", "xdt:sched::continue-running domain=3 vcpu=1" },
	/* pv, 32 and 64 bits */
	{ 0x201001, "11110001 22220002", "d1/v2", "xdt:pv::hypercall nr=572653570 rip=0x11110001" },
	{ 0x201101, "11110001 22220002 1d", "d1/v2",
	  "xdt:pv::hypercall nr=sched_op rip=0x2222000211110001" },
	{ 0x201003, "11110001 e800e", "d1/v2",
	  "xdt:pv::trap rip=0x11110001 trap=14 valid=1 error=0xe" },
	{ 0x201003, "11110001 6", "d1/v2", "xdt:pv::trap rip=0x11110001 trap=6 valid=0 error=0x0" },
	{ 0x201103, "11110001 22220002 7800d", "d1/v2",
	  "xdt:pv::trap rip=0x2222000211110001 trap=13 valid=1 error=0x7" },
	{ 0x201004, "11110001 22220002 33330003", "d1/v2",
	  "xdt:pv::page-fault rip=0x11110001 va=0x22220002 error=0x33330003" },
	{ 0x201104, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:pv::page-fault rip=0x2222000211110001 va=0x4444000433330003 error=0x55550005" },
	{ 0x201005, "11110001", "d1/v2", "xdt:pv::forced-invalid-op rip=0x11110001" },
	{ 0x201105, "11110001 22220002", "d1/v2",
	  "xdt:pv::forced-invalid-op rip=0x2222000211110001" },
	{ 0x201006, "11110001", "d1/v2", "xdt:pv::emulate-priv-op rip=0x11110001" },
	{ 0x201106, "11110001 22220002", "d1/v2",
	  "xdt:pv::emulate-priv-op rip=0x2222000211110001" },
	{ 0x201008, "", "d1/v2", "xdt:pv::math-state-restore" },
	{ 0x201108, "", "d1/v2", "xdt:pv::math-state-restore" },
	{ 0x201009, "11110001 22220002", "d1/v2",
	  "xdt:pv::paging-fixup rip=0x11110001 va=0x22220002" },
	{ 0x201109, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::paging-fixup rip=0x2222000211110001 va=0x4444000433330003" },
	{ 0x20100a, "11110001 22220002", "d1/v2",
	  "xdt:pv::dt-mapping-fault rip=0x11110001 offset=0x22220002" },
	{ 0x20110a, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::dt-mapping-fault rip=0x2222000211110001 offset=0x4444000433330003" },
	{ 0x20100b, "11110001 22220002 33330003", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x11110001 va=0x22220002 rip=0x33330003" },
	{ 0x20100b, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x33330003 rip=0x44440004" },
	{ 0x20110b, "11110001 22220002 33330003 44440004 55550005 66660006", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x4444000433330003 "
	  "rip=0x6666000655550005" },
	{ 0x20100c, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x33330003 rip=0x44440004" },
	{ 0x20110c, "11110001 22220002 33330003 44440004 55550005 66660006", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x4444000433330003 "
	  "rip=0x6666000655550005" },
	{ 0x20f001, "11110001 22220002", "d1/v2", "xdt:pv::hypercall nr=572653570 rip=0x11110001" },
	{ 0x20f101, "11110001 22220002 1d", "d1/v2",
	  "xdt:pv::hypercall nr=sched_op rip=0x2222000211110001" },
	{ 0x20f003, "11110001 e800e", "d1/v2",
	  "xdt:pv::trap rip=0x11110001 trap=14 valid=1 error=0xe" },
	{ 0x20f003, "11110001 6", "d1/v2", "xdt:pv::trap rip=0x11110001 trap=6 valid=0 error=0x0" },
	{ 0x20f103, "11110001 22220002 7800d", "d1/v2",
	  "xdt:pv::trap rip=0x2222000211110001 trap=13 valid=1 error=0x7" },
	{ 0x20f004, "11110001 22220002 33330003", "d1/v2",
	  "xdt:pv::page-fault rip=0x11110001 va=0x22220002 error=0x33330003" },
	{ 0x20f104, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:pv::page-fault rip=0x2222000211110001 va=0x4444000433330003 error=0x55550005" },
	{ 0x20f005, "11110001", "d1/v2", "xdt:pv::forced-invalid-op rip=0x11110001" },
	{ 0x20f105, "11110001 22220002", "d1/v2",
	  "xdt:pv::forced-invalid-op rip=0x2222000211110001" },
	{ 0x20f006, "11110001", "d1/v2", "xdt:pv::emulate-priv-op rip=0x11110001" },
	{ 0x20f106, "11110001 22220002", "d1/v2",
	  "xdt:pv::emulate-priv-op rip=0x2222000211110001" },
	{ 0x20f008, "", "d1/v2", "xdt:pv::math-state-restore" },
	{ 0x20f108, "", "d1/v2", "xdt:pv::math-state-restore" },
	{ 0x20f009, "11110001 22220002", "d1/v2",
	  "xdt:pv::paging-fixup rip=0x11110001 va=0x22220002" },
	{ 0x20f109, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::paging-fixup rip=0x2222000211110001 va=0x4444000433330003" },
	{ 0x20f00a, "11110001 22220002", "d1/v2",
	  "xdt:pv::dt-mapping-fault rip=0x11110001 offset=0x22220002" },
	{ 0x20f10a, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::dt-mapping-fault rip=0x2222000211110001 offset=0x4444000433330003" },
	{ 0x20f00b, "11110001 22220002 33330003", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x11110001 va=0x22220002 rip=0x33330003" },
	{ 0x20f00b, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x33330003 rip=0x44440004" },
	{ 0x20f10b, "11110001 22220002 33330003 44440004 55550005 66660006", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x4444000433330003 "
	  "rip=0x6666000655550005" },
	{ 0x20f00c, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x33330003 rip=0x44440004" },
	{ 0x20f10c, "11110001 22220002 33330003 44440004 55550005 66660006", "d1/v2",
	  "xdt:pv::pte-write-emul pte=0x2222000211110001 va=0x4444000433330003 "
	  "rip=0x6666000655550005" },
	/* the second form of hypercalls: the number, and two bits for each argument */
	{ 0x20100d, "17", "d1/v2", "xdt:pv::hypercall nr=iret" },
	{ 0x20100d, "40001a 2", "d1/v2",
	  "xdt:pv::hypercall nr=mmuext_op told=0x2 a0=0x0 a1=0x2 a2=0x0 a3=0x0 a4=0x0 a5=0x0" },
	{ 0x20100d, "90001d 1 22220002 33330003", "d1/v2",
	  "xdt:pv::hypercall nr=sched_op told=0x3 a0=0x1 a1=0x3333000322220002 a2=0x0 a3=0x0 "
	  "a4=0x0 a5=0x0" },
	{ 0x20100d, "55500018 1 2 3 4 5 6", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x3f a0=0x1 a1=0x2 a2=0x3 a3=0x4 a4=0x5 a5=0x6" },
	{ 0x20100d, "a00018 1 2 3 4", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x3 a0=0x200000001 a1=0x400000003 a2=0x0 a3=0x0 "
	  "a4=0x0 a5=0x0" },
	{ 0x20100d, "1a00018 1 2 3 4 5", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x7 a0=0x200000001 a1=0x400000003 a2=0x5 a3=0x0 "
	  "a4=0x0 a5=0x0" },
	{ 0x20100d, "100018 1", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x1 a0=0x1 a1=0x0 a2=0x0 a3=0x0 a4=0x0 a5=0x0" },
	{ 0x20100d, "200018 1 2", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x1 a0=0x200000001 a1=0x0 a2=0x0 a3=0x0 a4=0x0 "
	  "a5=0x0" },
	{ 0x20100d, "1500018 1 2 3", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x7 a0=0x1 a1=0x2 a2=0x3 a3=0x0 a4=0x0 a5=0x0" },
	{ 0x20100d, "80800018 1 2 3 4", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x22 a0=0x0 a1=0x200000001 a2=0x0 a3=0x0 a4=0x0 "
	  "a5=0x400000003" },
	{ 0x20100d, "1500018 1 2 3 4 5 6", "d1/v2",
	  "xdt:pv::hypercall nr=vcpu_op told=0x7 a0=0x1 a1=0x2 a2=0x3 a3=0x0 a4=0x0 a5=0x0" },
	{ 0x20200e, "e", "d1/v2", "xen:pv::subcall nr=update_va_mapping" },
	/* hvm: entry and exit; the codes identify the vendor, so all of the file are of one */
	{ 0x81001, "", "d1/v2", "xdt:hvm::vmentry" },
	{ 0x81002, "c 22220002", "d1/v2", "xdt:hvm::vmexit reason=HLT rip=0x22220002" },
	{ 0x81102, "30 22220002 33330003", "d1/v2",
	  "xdt:hvm::vmexit reason=EPT_VIOLATION rip=0x3333000322220002" },
	{ 0x81402, "c 22220002", "d1/v2", "xen:hvm::nested-vmexit reason=HLT rip=0x22220002" },
	{ 0x81502, "c 22220002 33330003", "d1/v2",
	  "xen:hvm::nested-vmexit reason=HLT rip=0x3333000322220002" },
	{ 0x81002, "78 22220002", "d1/v2", "xdt:hvm::vmexit reason=HLT rip=0x22220002" },
	{ 0x81102, "400 22220002 33330003", "d1/v2",
	  "xdt:hvm::vmexit reason=NPF rip=0x3333000322220002" },
	{ 0x81003, "78 22220002", "d1/v2", "xdt:hvm::vmexit reason=HLT rip=0x22220002" },
	{ 0x81103, "78 22220002 33330003", "d1/v2",
	  "xdt:hvm::vmexit reason=HLT rip=0x3333000322220002" },
	{ 0x81401, "", "d1/v2", "xen:hvm::nested-vmentry" },
	{ 0x81402, "78 22220002", "d1/v2", "xen:hvm::nested-vmexit reason=HLT rip=0x22220002" },
	{ 0x81502, "78 22220002 33330003", "d1/v2",
	  "xen:hvm::nested-vmexit reason=HLT rip=0x3333000322220002" },
	/* hvm: handlers */
	{ 0x82001, "11110001 22220002", "d1/v2",
	  "xdt:hvm::pagefault-xen error=0x11110001 va=0x22220002" },
	{ 0x82101, "11110001 22220002 33330003", "d1/v2",
	  "xdt:hvm::pagefault-xen error=0x11110001 va=0x3333000322220002" },
	{ 0x82002, "11110001 22220002", "d1/v2",
	  "xdt:hvm::pagefault-inject error=0x11110001 va=0x22220002" },
	{ 0x82102, "11110001 22220002 33330003", "d1/v2",
	  "xdt:hvm::pagefault-inject error=0x11110001 va=0x3333000322220002" },
	{ 0x82003, "e 2", "d1/v2", "xdt:hvm::exception-inject trap=14 error=0x2" },
	{ 0x82004, "ec", "d1/v2", "xdt:hvm::virq-inject vector=236" },
	{ 0x82004, "ec 1", "d1/v2", "xdt:hvm::virq-inject vector=236 fake=1" },
	{ 0x82008, "3 22220002", "d1/v2", "xdt:hvm::cr-read cr=3 value=0x22220002" },
	{ 0x82108, "3 22220002 33330003", "d1/v2",
	  "xdt:hvm::cr-read cr=3 value=0x3333000322220002" },
	{ 0x82009, "3 22220002", "d1/v2", "xdt:hvm::cr-write cr=3 value=0x22220002" },
	{ 0x82109, "3 22220002 33330003", "d1/v2",
	  "xdt:hvm::cr-write cr=3 value=0x3333000322220002" },
	{ 0x8200c, "c0000080 22220002 33330003", "d1/v2",
	  "xdt:hvm::msr-read msr=0xc0000080 value=0x3333000322220002" },
	{ 0x8200d, "c0000080 22220002 33330003", "d1/v2",
	  "xdt:hvm::msr-write msr=0xc0000080 value=0x3333000322220002" },
	{ 0x8200e, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:hvm::cpuid leaf=0x11110001 eax=0x22220002 ebx=0x33330003 ecx=0x44440004 "
	  "edx=0x55550005" },
	{ 0x8200e, "11110001 22220002 33330003 44440004 55550005 66660006", "d1/v2",
	  "xdt:hvm::cpuid leaf=0x11110001 eax=0x33330003 ebx=0x44440004 ecx=0x55550005 "
	  "edx=0x66660006 subleaf=0x22220002" },
	{ 0x8200f, "", "d1/v2", "xdt:hvm::intr" },
	{ 0x8200f, "f1", "d1/v2", "xdt:hvm::intr vector=241" },
	{ 0x82010, "", "d1/v2", "xdt:hvm::nmi" },
	{ 0x82011, "", "d1/v2", "xdt:hvm::smi" },
	{ 0x82012, "1d", "d1/v2", "xdt:hvm::vmmcall nr=sched_op" },
	{ 0x82013, "1", "d1/v2", "xdt:hvm::hlt runnable=1" },
	{ 0x82014, "1 22220002", "d1/v2", "xdt:hvm::invlpg invlpga=1 va=0x22220002" },
	{ 0x82114, "0 22220002 33330003", "d1/v2",
	  "xdt:hvm::invlpg invlpga=0 va=0x3333000322220002" },
	{ 0x82015, "", "d1/v2", "xdt:hvm::mce" },
	{ 0x82018, "", "d1/v2", "xdt:hvm::clts" },
	{ 0x82019, "11110001", "d1/v2", "xdt:hvm::lmsw value=0x11110001" },
	{ 0x82119, "11110001 22220002", "d1/v2", "xdt:hvm::lmsw value=0x2222000211110001" },
	{ 0x82020, "ec 2 ffffffff", "d1/v2",
	  "xdt:hvm::intr-window vector=236 source=lapic info=-1" },
	{ 0x82020, "ec", "d1/v2", "xdt:hvm::intr-window vector=236 source=-1 info=-1" },
	/* hvm: I/O, of today, and of 2009 with count and size */
	{ 0x82016, "11110001", "d1/v2",
	  "xdt:hvm::pio-read address=0x11110001 count=-1 size=-1bytes" },
	{ 0x82016, "11110001 22220002", "d1/v2",
	  "xdt:hvm::pio-read address=0x11110001 count=-1 size=-1bytes data=0x22220002" },
	{ 0x82016, "3f8 2 4", "d1/v2", "xdt:hvm::pio-read address=0x3f8 count=2 size=4bytes" },
	{ 0x82016, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::pio-read address=0x2222000211110001 count=2 size=4bytes" },
	{ 0x82116, "11110001 22220002", "d1/v2",
	  "xdt:hvm::pio-read address=0x2222000211110001 count=-1 size=-1bytes" },
	{ 0x82116, "11110001 22220002 33330003", "d1/v2",
	  "xdt:hvm::pio-read address=0x2222000211110001 count=-1 size=-1bytes data=0x33330003" },
	{ 0x82116, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::pio-read address=0x2222000211110001 count=2 size=4bytes" },
	{ 0x82216, "11110001", "d1/v2",
	  "xdt:hvm::pio-write address=0x11110001 count=-1 size=-1bytes" },
	{ 0x82216, "11110001 22220002", "d1/v2",
	  "xdt:hvm::pio-write address=0x11110001 count=-1 size=-1bytes data=0x22220002" },
	{ 0x82216, "3f8 2 4", "d1/v2", "xdt:hvm::pio-write address=0x3f8 count=2 size=4bytes" },
	{ 0x82216, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::pio-write address=0x2222000211110001 count=2 size=4bytes" },
	{ 0x82316, "11110001 22220002", "d1/v2",
	  "xdt:hvm::pio-write address=0x2222000211110001 count=-1 size=-1bytes" },
	{ 0x82316, "11110001 22220002 33330003", "d1/v2",
	  "xdt:hvm::pio-write address=0x2222000211110001 count=-1 size=-1bytes data=0x33330003" },
	{ 0x82316, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::pio-write address=0x2222000211110001 count=2 size=4bytes" },
	{ 0x82017, "11110001", "d1/v2",
	  "xdt:hvm::mmio-read address=0x11110001 count=-1 size=-1bytes" },
	{ 0x82017, "11110001 22220002", "d1/v2",
	  "xdt:hvm::mmio-read address=0x11110001 count=-1 size=-1bytes data=0x22220002" },
	{ 0x82017, "3f8 2 4", "d1/v2", "xdt:hvm::mmio-read address=0x3f8 count=2 size=4bytes" },
	{ 0x82017, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::mmio-read address=0x2222000211110001 count=2 size=4bytes" },
	{ 0x82117, "11110001 22220002", "d1/v2",
	  "xdt:hvm::mmio-read address=0x2222000211110001 count=-1 size=-1bytes" },
	{ 0x82117, "11110001 22220002 33330003", "d1/v2",
	  "xdt:hvm::mmio-read address=0x2222000211110001 count=-1 size=-1bytes data=0x33330003" },
	{ 0x82117, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::mmio-read address=0x2222000211110001 count=2 size=4bytes" },
	{ 0x82217, "11110001", "d1/v2",
	  "xdt:hvm::mmio-write address=0x11110001 count=-1 size=-1bytes" },
	{ 0x82217, "11110001 22220002", "d1/v2",
	  "xdt:hvm::mmio-write address=0x11110001 count=-1 size=-1bytes data=0x22220002" },
	{ 0x82217, "3f8 2 4", "d1/v2", "xdt:hvm::mmio-write address=0x3f8 count=2 size=4bytes" },
	{ 0x82217, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::mmio-write address=0x2222000211110001 count=2 size=4bytes" },
	{ 0x82317, "11110001 22220002", "d1/v2",
	  "xdt:hvm::mmio-write address=0x2222000211110001 count=-1 size=-1bytes" },
	{ 0x82317, "11110001 22220002 33330003", "d1/v2",
	  "xdt:hvm::mmio-write address=0x2222000211110001 count=-1 size=-1bytes data=0x33330003" },
	{ 0x82317, "11110001 22220002 2 4", "d1/v2",
	  "xdt:hvm::mmio-write address=0x2222000211110001 count=2 size=4bytes" },
	/* mem */
	{ 0x10f001, "5", "d1/v2", "xdt:mem::page-grant-map domain=5" },
	{ 0x10f002, "5", "d1/v2", "xdt:mem::page-grant-unmap domain=5" },
	{ 0x10f003, "5", "d1/v2", "xdt:mem::page-grant-transfer domain=5" },
	/* shadow: two levels of page tables, three (PAE), four */
	{ 0x40f001, "11110001 22220002 33330003", "d1/v2",
	  "xdt:shadow::fault-not-shadow pte=0x11110001 va=0x22220002 flags=0x33330003" },
	{ 0x40f101, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:shadow::fault-not-shadow pte=0x2222000211110001 va=0x33330003 flags=0x44440004" },
	{ 0x40f201, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::fault-not-shadow pte=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f101, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::fault-not-shadow pte=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f006, "11110001 22220002 33330003", "d1/v2",
	  "xdt:shadow::fixup pte=0x11110001 va=0x22220002 flags=0x33330003" },
	{ 0x40f106, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:shadow::fixup pte=0x2222000211110001 va=0x33330003 flags=0x44440004" },
	{ 0x40f206, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::fixup pte=0x2222000211110001 va=0x4444000433330003 flags=0x55550005" },
	{ 0x40f106, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::fixup pte=0x2222000211110001 va=0x4444000433330003 flags=0x55550005" },
	{ 0x40f009, "11110001 22220002 33330003", "d1/v2",
	  "xdt:shadow::emulate-unshadow-user gfn=0x11110001 va=0x22220002 flags=0x33330003" },
	{ 0x40f109, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:shadow::emulate-unshadow-user gfn=0x2222000211110001 va=0x33330003 "
	  "flags=0x44440004" },
	{ 0x40f209, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::emulate-unshadow-user gfn=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f109, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::emulate-unshadow-user gfn=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f00a, "11110001 22220002 33330003", "d1/v2",
	  "xdt:shadow::emulate-unshadow-evtinj gfn=0x11110001 va=0x22220002 flags=0x33330003" },
	{ 0x40f10a, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:shadow::emulate-unshadow-evtinj gfn=0x2222000211110001 va=0x33330003 "
	  "flags=0x44440004" },
	{ 0x40f20a, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::emulate-unshadow-evtinj gfn=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f10a, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::emulate-unshadow-evtinj gfn=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f00b, "11110001 22220002 33330003", "d1/v2",
	  "xdt:shadow::emulate-unshadow-unhandled gfn=0x11110001 va=0x22220002 flags=0x33330003" },
	{ 0x40f10b, "11110001 22220002 33330003 44440004", "d1/v2",
	  "xdt:shadow::emulate-unshadow-unhandled gfn=0x2222000211110001 va=0x33330003 "
	  "flags=0x44440004" },
	{ 0x40f20b, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::emulate-unshadow-unhandled gfn=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f10b, "11110001 22220002 33330003 44440004 55550005", "d1/v2",
	  "xdt:shadow::emulate-unshadow-unhandled gfn=0x2222000211110001 va=0x4444000433330003 "
	  "flags=0x55550005" },
	{ 0x40f008, "11110001 22220002 33330003 a0000123", "d1/v2",
	  "xdt:shadow::emulate pte=0x11110001 value=0x22220002 va=0x33330003 flags=0x123 again=5" },
	{ 0x40f108, "11110001 22220002 33330003 44440004 55550005 a0000123", "d1/v2",
	  "xdt:shadow::emulate pte=0x2222000211110001 value=0x4444000433330003 va=0x55550005 "
	  "flags=0x123 again=5" },
	{ 0x40f208, "11110001 22220002 33330003 44440004 55550005 66660006 a0000123", "d1/v2",
	  "xdt:shadow::emulate pte=0x2222000211110001 value=0x4444000433330003 "
	  "va=0x6666000655550005 flags=0x123 again=5" },
	{ 0x40f108, "11110001 22220002 33330003 44440004 55550005 66660006 a0000123", "d1/v2",
	  "xdt:shadow::emulate pte=0x2222000211110001 value=0x4444000433330003 "
	  "va=0x6666000655550005 flags=0x123 again=5" },
	{ 0x40f002, "11110001", "d1/v2", "xdt:shadow::fast-propagate va=0x11110001" },
	{ 0x40f102, "11110001", "d1/v2", "xdt:shadow::fast-propagate va=0x11110001" },
	{ 0x40f202, "11110001 22220002", "d1/v2",
	  "xdt:shadow::fast-propagate va=0x2222000211110001" },
	{ 0x40f102, "11110001 22220002", "d1/v2",
	  "xdt:shadow::fast-propagate va=0x2222000211110001" },
	{ 0x40f003, "11110001", "d1/v2", "xdt:shadow::fast-mmio va=0x11110001" },
	{ 0x40f103, "11110001", "d1/v2", "xdt:shadow::fast-mmio va=0x11110001" },
	{ 0x40f203, "11110001 22220002", "d1/v2", "xdt:shadow::fast-mmio va=0x2222000211110001" },
	{ 0x40f103, "11110001 22220002", "d1/v2", "xdt:shadow::fast-mmio va=0x2222000211110001" },
	{ 0x40f004, "11110001", "d1/v2", "xdt:shadow::false-fast-path va=0x11110001" },
	{ 0x40f104, "11110001", "d1/v2", "xdt:shadow::false-fast-path va=0x11110001" },
	{ 0x40f204, "11110001 22220002", "d1/v2",
	  "xdt:shadow::false-fast-path va=0x2222000211110001" },
	{ 0x40f104, "11110001 22220002", "d1/v2",
	  "xdt:shadow::false-fast-path va=0x2222000211110001" },
	{ 0x40f005, "11110001", "d1/v2", "xdt:shadow::mmio va=0x11110001" },
	{ 0x40f105, "11110001", "d1/v2", "xdt:shadow::mmio va=0x11110001" },
	{ 0x40f205, "11110001 22220002", "d1/v2", "xdt:shadow::mmio va=0x2222000211110001" },
	{ 0x40f105, "11110001 22220002", "d1/v2", "xdt:shadow::mmio va=0x2222000211110001" },
	{ 0x40f007, "11110001", "d1/v2", "xdt:shadow::domf-dying va=0x11110001" },
	{ 0x40f107, "11110001", "d1/v2", "xdt:shadow::domf-dying va=0x11110001" },
	{ 0x40f207, "11110001 22220002", "d1/v2", "xdt:shadow::domf-dying va=0x2222000211110001" },
	{ 0x40f107, "11110001 22220002", "d1/v2", "xdt:shadow::domf-dying va=0x2222000211110001" },
	{ 0x40f00c, "11110001", "d1/v2", "xdt:shadow::wrmap-bf gfn=0x11110001" },
	{ 0x40f00c, "11110001 22220002", "d1/v2", "xdt:shadow::wrmap-bf gfn=0x2222000211110001" },
	{ 0x40f10c, "11110001 22220002", "d1/v2", "xdt:shadow::wrmap-bf gfn=0x2222000211110001" },
	{ 0x40f00d, "11110001", "d1/v2", "xdt:shadow::prealloc-unpin mfn=0x11110001" },
	{ 0x40f00d, "11110001 22220002", "d1/v2",
	  "xdt:shadow::prealloc-unpin mfn=0x2222000211110001" },
	{ 0x40f10d, "11110001 22220002", "d1/v2",
	  "xdt:shadow::prealloc-unpin mfn=0x2222000211110001" },
	{ 0x40f00e, "11110001", "d1/v2", "xdt:shadow::resync-full gfn=0x11110001" },
	{ 0x40f00e, "11110001 22220002", "d1/v2",
	  "xdt:shadow::resync-full gfn=0x2222000211110001" },
	{ 0x40f10e, "11110001 22220002", "d1/v2",
	  "xdt:shadow::resync-full gfn=0x2222000211110001" },
	{ 0x40f00f, "11110001", "d1/v2", "xdt:shadow::resync-only gfn=0x11110001" },
	{ 0x40f00f, "11110001 22220002", "d1/v2",
	  "xdt:shadow::resync-only gfn=0x2222000211110001" },
	{ 0x40f10f, "11110001 22220002", "d1/v2",
	  "xdt:shadow::resync-only gfn=0x2222000211110001" },
	/* pm */
	{ 0x801001, "960 4b0", "d1/v2", "xdt:pm::freq-change old=2400MHz new=1200MHz" },
	{ 0x801002, "3 64", "d1/v2", "xdt:pm::idle-entry cstate=3 time=100ticks" },
	{ 0x801002, "3 64 c8 12c", "d1/v2",
	  "xdt:pm::idle-entry cstate=3 time=100ticks expected=200us predicted=300us" },
	{ 0x801003, "3 64", "d1/v2", "xdt:pm::idle-exit cstate=3 time=100ticks" },
	{ 0x801003, "3 64 1 2 3 4", "d1/v2",
	  "xdt:pm::idle-exit cstate=3 time=100ticks irq0=1 irq1=2 irq2=3 irq3=4" },
	/* trace: {u32 lost; u16 domain, vcpu; u64 first TSC}; the record's own stamp is 3000 */
	{ 0x1f001, "7 20003 9c4 0", "-",
	  "xdt:trace::records-lost domain=3 vcpu=2 count=7 from=2500 to=3000 why=full" },
	/* beyond xdt: a sample of each of Xen's own events */
	{ 0x2800a, "1 2 3 1", "d3/v1",
	  "xen:sched::switch prev_domain=1 prev_vcpu=2 next_domain=3 next_vcpu=1" },
	{ 0x28011, "3 1 64 c8", "d3/v1",
	  "xen:sched::switch-continue domain=3 vcpu=1 runtime=100ns slice=200ns" },
	{ 0x22009, "1000003", "d1/v2", "xen:csched::schedule cpu=3 tasklet=0 idle=1" },
	{ 0x22203, "30001 ffffffff 80000000 5", "d1/v2",
	  "xen:csched2::credit-burn domain=3 vcpu=1 credit=-1 budget=-2147483648 delta=5" },
	{ 0x2220c, "10000 0 20000 0 12010003 deadbeef", "d1/v2",
	  "xen:csched2::update-runq-load avgload=65536 b_avgload=131072 load=3 runq=1 shift=18" },
	{ 0x22215, "10002 1000100", "d1/v2",
	  "xen:csched2::schedule cpu=2 runq=1 tasklet=0 idle=1 smt_idle=0 tickled=1" },
	/*
	 * runq_candidate(), xen/common/sched/credit2.c: now minus the time at which the state
	 * began, if that is below the limit, which may be negative
	 */
	{ 0x22216, "30001 fffffc18", "d1/v2",
	  "xen:csched2::ratelimit domain=3 vcpu=1 runtime=-1000ns" },
	/* burn_budget(), xen/common/sched/rt.c, returns early if the difference is negative */
	{ 0x22803, "30001 1 0 88ca6c00", "d1/v2",
	  "xen:rtds::budget-burn domain=3 vcpu=1 budget=1ns delta=2294967296ns" },
	{ 0x22803, "30001 1 0 88ca6c00 2 1", "d1/v2",
	  "xen:rtds::budget-burn domain=3 vcpu=1 budget=1ns delta=2294967296ns priority=2 "
	  "extratime=1" },
	{ 0x22803, "30001 1 0 5 2 1", "d1/v2",
	  "xen:rtds::budget-burn domain=3 vcpu=1 budget=1ns delta=5ns priority=2 extratime=1" },
	{ 0x22a04, "30001 50004", "d1/v2", "xen:null::migrate domain=3 vcpu=1 cpu=4 new_cpu=5" },
	{ 0x22a05, "30001 ffffffff", "d1/v2",
	  "xen:null::schedule cpu=3 tasklet=1 domain=-1 vcpu=-1" },
	{ 0x41001, "5", "d1/v2", "xen:dom0op::domain-create domain=5" },
	{ 0x82021, "fee000b0 0 ffffffff ffffffff 1 4", "d1/v2",
	  "xen:hvm::npf gpa=0xfee000b0 mfn=0xffffffffffffffff qualification=0x1 p2mt=4" },
	{ 0x84004, "3783e0 0 0 0 ec", "d1/v2",
	  "xen:emul::vlapic-start delta=3638240ns period=0ns irq=236" },
	{ 0x10f004, "200 0 177800 0 0 90001", "d1/v2",
	  "xen:mem::set-p2m-entry gfn=0x200 mfn=0x177800 p2mt=0 domain=1 order=9" },
	{ 0x802008, "4 fffffff0 10", "d1/v2",
	  "xen:irq::handled irq=4 took=32ns began=4294967280cycles ended=16cycles" },
	/* of an unknown number, or of an unknown number of words */
	{ 0x84099, "11110001 22220002", "d1/v2",
	  "xen:raw::0x84099 event=0x84099 words=2 w1=0x11110001 w2=0x22220002 w3=0x0 w4=0x0 "
	  "w5=0x0 w6=0x0 w7=0x0" },
	{ 0x28006, "3 1 4", "d1/v2",
	  "xen:raw::0x28006 event=0x28006 words=3 w1=0x3 w2=0x1 w3=0x4 w4=0x0 w5=0x0 w6=0x0 "
	  "w7=0x0" },
};
#define N_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static uint32_t words_of(const struct sample *sample, uint32_t words[8])
{
	const char *at = sample->words;
	uint32_t n = 0;

	while (n < 8 && *at) {
		char *end;

		words[n++] = (uint32_t)strtoul(at, &end, 16);
		at = *end ? end + 1 : end;
	}
	return n;
}

/*
 * A window on CPU 5: a switch to d1/v2, then the record, with a stamp or, for records that Xen
 * writes without, without one.
 */
static void check_sample(const struct sample *sample, bool stamped)
{
	static struct maker m;
	struct lines lines = { .times = true };
	uint32_t words[8], n = words_of(sample, words);
	char expected[512];

	m.n = 0;
	window(&m, 5);
	RECORD(&m, 0x2800a, 1000, 0, 1, 1, 2);
	record(&m, sample->event, stamped ? STAMP : 0, words, n);
	snprintf(expected, sizeof(expected), "%d [5] %s %s", stamped ? STAMP - 1000 : 0,
		 sample->context, sample->line);
	/* Stamps are shown raw; only the loss has arguments with stamps. */
	read_made(&m, &lines);
	if (!CHECK(!lines.err) || !CHECK_EQ_U64(lines.n, 3) || !CHECK_STR(lines.line[2], expected))
		printf("# event 0x%x of %u words\n", sample->event, n);
	lines_free(&lines);
}

TEST(each_probe_in_each_layout)
{
	for (size_t i = 0; i < N_SAMPLES; i++)
		check_sample(&samples[i], true);
}

TEST(without_a_stamp_they_have_the_previous_one)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		if (samples[i].event >> 12 == 0x82)
			check_sample(&samples[i], false);
	}
}

/* ---- completeness -------------------------------------------------------------------------- */

static bool is_sampled(uint32_t event, uint32_t n)
{
	uint32_t words[8];

	for (size_t i = 0; i < N_SAMPLES; i++) {
		if (samples[i].event == event && words_of(&samples[i], words) == n)
			return true;
	}
	return false;
}

TEST(no_layout_of_xdt_is_missing)
{
#define RS_XEN_BY(how, event, words, symbol, ...)                                                  \
	if (RS_ID_PROVIDER(RS_XEN_##symbol) == RS_IDS_XDT && !is_sampled(event, words))            \
		test_fail(TEST_HERE, "no sample of 0x%x of %u words", event, words);
#define RS_XEN(event, words, symbol, ...) RS_XEN_BY(none, event, words, symbol, )
#include "xen/layouts.def"
#undef RS_XEN
#undef RS_XEN_BY
}

/*
 * Returns whether a line shows this probe, with these fields in this order, and no others.
 * "off-cpu" is not "idle-off-cpu", and "vmexit" with a rip of 32 bits is as good as one with 64.
 */
static bool is_of(const char *line, const struct rs_catalogue_row *row)
{
	size_t len = strcspn(line, " ");
	const char *at = line + len;
	char probe[128];

	snprintf(probe, sizeof(probe), "xdt:%s::%s", row->class_name, row->name);
	if (len != strlen(probe) || strncmp(line, probe, len) != 0)
		return false;
	for (uint32_t i = 0; i < row->n_fields; i++) {
		const char *name = row->fields[i].name;

		if (*at != ' ' || strncmp(at + 1, name, strlen(name)) != 0 ||
		    at[1 + strlen(name)] != '=')
			return false;
		at += 1 + strcspn(at + 1, " ");
	}
	return !*at;
}

/* A probe has a row for each possible set of arguments. */
TEST(no_probe_of_xdt_is_missing)
{
	const struct rs_catalogue *xdt = rs_catalogue_find("xdt");

	REQUIRE(xdt != NULL);
	for (uint32_t i = 0; i < xdt->n_rows; i++) {
		const struct rs_catalogue_row *row = &xdt->rows[i];
		bool found = false;

		for (size_t j = 0; j < N_SAMPLES && !found; j++)
			found = is_of(samples[j].line, row);
		if (!found)
			test_fail(TEST_HERE, "no sample of %s with %u arguments", row->name,
				  row->n_fields);
	}
}

/*
 * The documentation's list: class, probe, and the meaning of arg0, arg1, ... The catalogue has each
 * of its probes, and the two of xdt that it lacks. Its arguments come first, in its order, followed
 * by Xen's others; those that it gives in ns are in ns.
 */
static const struct documented {
	const char *class_name, *name, *args;
} documented[] = {
	{ "sched", "block", "domain vcpu" },
	{ "sched", "idle-off-cpu", "domain vcpu runtime/ns" },
	{ "sched", "off-cpu", "domain vcpu runtime/ns" },
	{ "sched", "idle-on-cpu", "domain vcpu wait/ns slice/ns" },
	{ "sched", "on-cpu", "domain vcpu wait/ns slice/ns" },
	{ "sched", "shutdown-crash", "domain vcpu" },
	{ "sched", "shutdown-poweroff", "domain vcpu" },
	{ "sched", "shutdown-reboot", "domain vcpu" },
	{ "sched", "shutdown-suspend", "domain vcpu" },
	{ "sched", "sleep", "domain vcpu" },
	{ "sched", "wake", "domain vcpu" },
	{ "sched", "yield", "domain vcpu" },
	{ "sched", "add", "domain vcpu" },
	{ "sched", "adjdom", "domain" },
	{ "sched", "runstate-change", "domain vcpu old new" },
	{ "sched", "continue-running", "domain vcpu" },
	{ "pv", "dt-mapping-fault", "rip offset" },
	{ "pv", "emulate-priv-op", "rip" },
	{ "pv", "forced-invalid-op", "rip" },
	{ "pv", "hypercall", "nr" },
	{ "pv", "math-state-restore", "" },
	{ "pv", "page-fault", "rip va error" },
	{ "pv", "paging-fixup", "rip va" },
	{ "pv", "pte-write-emul", "pte va rip" },
	{ "pv", "trap", "rip trap valid error" },
	{ "hvm", "vmexit", "reason rip" },
	{ "hvm", "vmentry", "" },
	{ "hvm", "vmmcall", "nr" },
	{ "hvm", "clts", "" },
	{ "hvm", "cpuid", "leaf eax ebx ecx edx" },
	{ "hvm", "cr-read", "cr value" },
	{ "hvm", "cr-write", "cr value" },
	{ "hvm", "exception-inject", "trap error" },
	{ "hvm", "virq-inject", "vector" },
	{ "hvm", "hlt", "runnable" },
	{ "hvm", "intr", "" },
	{ "hvm", "intr-window", "vector source info" },
	{ "hvm", "nmi", "" },
	{ "hvm", "smi", "" },
	{ "hvm", "mce", "" },
	{ "hvm", "lmsw", "value" },
	{ "hvm", "mmio-read", "address count size/bytes" },
	{ "hvm", "mmio-write", "address count size/bytes" },
	{ "hvm", "pio-read", "address count size/bytes" },
	{ "hvm", "pio-write", "address count size/bytes" },
	{ "hvm", "msr-read", "msr value" },
	{ "hvm", "msr-write", "msr value" },
	{ "hvm", "invlpg", "invlpga va" },
	{ "hvm", "pagefault-inject", "error va" },
	{ "hvm", "pagefault-xen", "error va" },
	{ "mem", "page-grant-map", "domain" },
	{ "mem", "page-grant-transfer", "domain" },
	{ "mem", "page-grant-unmap", "domain" },
	{ "shadow", "domf-dying", "va" },
	{ "shadow", "emulate", "pte value va flags" },
	{ "shadow", "emulate-unshadow-evtinj", "gfn va" },
	{ "shadow", "emulate-unshadow-unhandled", "gfn va" },
	{ "shadow", "emulate-unshadow-user", "gfn va" },
	{ "shadow", "false-fast-path", "va" },
	{ "shadow", "fast-mmio", "va" },
	{ "shadow", "fast-propagate", "va" },
	{ "shadow", "fault-not-shadow", "pte va flags" },
	{ "shadow", "fixup", "pte va flags" },
	{ "shadow", "mmio", "va" },
	{ "shadow", "prealloc-unpin", "mfn" },
	{ "shadow", "resync-full", "gfn" },
	{ "shadow", "resync-only", "gfn" },
	{ "shadow", "wrmap-bf", "gfn" },
	{ "pm", "freq-change", "old/MHz new/MHz" },
	{ "pm", "idle-entry", "cstate time/ticks" },
	{ "pm", "idle-exit", "cstate time/ticks" },
	{ "trace", "records-lost", "domain vcpu count from" },
};

static bool begins_with(const struct rs_catalogue_row *row, const char *args)
{
	char copy[128], *rest = NULL, *unit;
	uint32_t i = 0;

	snprintf(copy, sizeof(copy), "%s", args);
	for (char *arg = strtok_r(copy, " ", &rest); arg; arg = strtok_r(NULL, " ", &rest), i++) {
		unit = strchr(arg, '/');
		if (unit)
			*unit++ = 0;
		if (i == row->n_fields || strcmp(row->fields[i].name, arg) != 0 ||
		    strcmp(row->fields[i].unit, unit ? unit : "") != 0)
			return false;
	}
	return true;
}

TEST(the_documentation_s_probes)
{
	const struct rs_catalogue *xdt = rs_catalogue_find("xdt");
	uint32_t rows = 0;

	REQUIRE(xdt != NULL);
	for (size_t i = 0; i < sizeof(documented) / sizeof(documented[0]); i++) {
		const struct documented *probe = &documented[i];
		uint32_t found = 0;

		for (uint32_t j = 0; j < xdt->n_rows; j++) {
			const struct rs_catalogue_row *row = &xdt->rows[j];

			if (strcmp(row->class_name, probe->class_name) != 0 ||
			    strcmp(row->name, probe->name) != 0)
				continue;
			found++;
			if (!begins_with(row, probe->args))
				test_fail(TEST_HERE, "%s has other arguments", row->name);
		}
		if (!found)
			test_fail(TEST_HERE, "%s is not there", probe->name);
		rows += found;
	}
	CHECK_EQ_U64(sizeof(documented) / sizeof(documented[0]), 72);
	CHECK_EQ_U64(rows, xdt->n_rows);
}

/* ---- events of several records --------------------------------------------------------------- */

/* Xen before 4.0: the vCPUs that leave and enter are not recorded; the switch names them. */
static void two_steps(uint32_t class)
{
	static const char *const expected[] = {
		"- xen:gen::window cpu=0 size=144bytes",
		"d1/v2 xen:sched::switch prev_domain=0 prev_vcpu=1 next_domain=1 next_vcpu=2",
		"d1/v2 xdt:sched::off-cpu domain=1 vcpu=2 runtime=500ns",
		"idle/v0 xdt:sched::idle-on-cpu domain=32767 vcpu=0 wait=7ns slice=9ns",
		"idle/v0 xen:sched::switch prev_domain=1 prev_vcpu=2 next_domain=32767 next_vcpu=0",
		"idle/v0 xdt:sched::idle-off-cpu domain=32767 vcpu=0 runtime=600ns",
		"d3/v1 xdt:sched::on-cpu domain=3 vcpu=1 wait=8ns slice=10ns",
		"d3/v1 xen:sched::switch prev_domain=32767 prev_vcpu=0 next_domain=3 next_vcpu=1",
		"d3/v1 xdt:sched::block domain=3 vcpu=1",
	};
	static struct maker m;
	struct lines lines = { 0 };

	m.n = 0;
	window(&m, 0);
	RECORD(&m, class | 0xa, 1000, 0, 1, 1, 2);
	RECORD(&m, class | 0xe, 1500, 1, 500);
	RECORD(&m, class | 0xf, 1501, 0x7fff, 7, 9);
	RECORD(&m, class | 0xa, 1502, 1, 2, 0x7fff, 0);
	RECORD(&m, class | 0xe, 2100, 0x7fff, 600);
	RECORD(&m, class | 0xf, 2101, 3, 8, 10);
	RECORD(&m, class | 0xa, 2102, 0x7fff, 0, 3, 1);
	RECORD(&m, class | 6, 2200, 3, 1);
	read_made(&m, &lines);
	CHECK(!lines.err);
	REQUIRE_EQ_U64(lines.n, 9);
	for (uint32_t i = 1; i < 9; i++)
		CHECK_STR(lines.line[i], expected[i]);
	lines_free(&lines);
}

TEST(switches_in_two_steps)
{
	two_steps(0x28000);
	two_steps(0x2f000); /* before Xen 3.3 */
}

/* A step without a following switch is shown unchanged. */
TEST(a_step_without_its_switch)
{
	static struct maker m;
	struct lines lines = { 0 };

	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x2800e, 1000, 1, 500);
	RECORD(&m, 0x2800e, 1500, 2, 600);
	RECORD(&m, 0x2800a, 1600, 3, 0, 4, 0); /* of another domain than the step */
	RECORD(&m, 0x2800f, 1700, 5, 7, 9);    /* the file's end */
	read_made(&m, &lines);
	CHECK(!lines.err);
	REQUIRE_EQ_U64(lines.n, 5);
	CHECK_STR(lines.line[1], "- xen:sched::switch-prev domain=1 runtime=500ns");
	CHECK_STR(lines.line[2], "- xen:sched::switch-prev domain=2 runtime=600ns");
	CHECK_STR(lines.line[3], "d4/v0 xen:sched::switch prev_domain=3 prev_vcpu=0 next_domain=4 "
				 "next_vcpu=0");
	CHECK_STR(lines.line[4], "d4/v0 xen:sched::switch-next domain=5 wait=7ns slice=9ns");
	lines_free(&lines);
}

/* Run and wait times have 32 bits of ns; 10 s later the stamps show the rest. */
TEST(times_that_do_not_fit_32_bits)
{
	static struct maker m;
	struct lines lines = { 0 };
	const uint64_t ten = 10000000000;

	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x21101, 1000, 0x10002); /* d1v2 runs */
	RECORD(&m, 0x21211, 1000, 0x20000); /* d2v0 wakes */
	RECORD(&m, 0x2800e, 1000 + ten, 1, 2, (uint32_t)ten);
	RECORD(&m, 0x2800f, 1001 + ten, 2, 0, (uint32_t)ten, 5);
	read_made(&m, &lines);
	REQUIRE_EQ_U64(lines.n, 5);
	CHECK_STR(lines.line[3], "d1/v2 xdt:sched::off-cpu domain=1 vcpu=2 runtime=10000000000ns");
	CHECK_STR(lines.line[4],
		  "d2/v0 xdt:sched::on-cpu domain=2 vcpu=0 wait=10000000000ns slice=5ns");
	lines_free(&lines);
	/* Not after a loss, because its content is unknown. */
	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x21101, 1000, 0x10002);
	RECORD(&m, 0x1f001, 2000, 1, 0x20001, 1500, 0);
	RECORD(&m, 0x2800e, 1000 + ten, 1, 2, 77);
	read_made(&m, &lines);
	REQUIRE_EQ_U64(lines.n, 4);
	CHECK_STR(lines.line[3], "d1/v2 xdt:sched::off-cpu domain=1 vcpu=2 runtime=77ns");
	CHECK_EQ_U64(lines.tally.lost, 1);
	lines_free(&lines);
}

/* ---- Intel or AMD -------------------------------------------------------------------------------
 */

static const char *exit_line(uint32_t first, uint32_t second, char line[128])
{
	static struct maker m;
	struct lines lines = { 0 };

	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x81102, 1000, first, 0x1000, 0);
	RECORD(&m, 0x81102, 2000, second, 0x2000, 0);
	read_made(&m, &lines);
	snprintf(line, 128, "%s", lines.n == 3 ? lines.line[1] : "");
	lines_free(&lines);
	return line;
}

TEST(exit_codes_identify_the_vendor)
{
	char line[128];

	CHECK_STR(exit_line(12, 48, line), "- xdt:hvm::vmexit reason=HLT rip=0x1000");
	CHECK_STR(exit_line(0x4e, 48, line), "- xdt:hvm::vmexit reason=78 rip=0x1000");
	CHECK_STR(exit_line(0x4e, 0x78, line), "- xdt:hvm::vmexit reason=EXCP_PF rip=0x1000");
	CHECK_STR(exit_line(0x10, 0x400, line), "- xdt:hvm::vmexit reason=WRITE_CR0 rip=0x1000");
	CHECK_STR(exit_line(48, 12, line), "- xdt:hvm::vmexit reason=EPT_VIOLATION rip=0x1000");
}
