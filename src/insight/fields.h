/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The members of kernel structures that insight reads, by their names in BTF. If this kernel lacks
 * a member, it is not `found`, and the reader uses another member or fails.
 */
#ifndef RS_INSIGHT_FIELDS_H
#define RS_INSIGHT_FIELDS_H

#include "insight/btf.h"

/* Fields of one struct must be adjacent. */
#define RS_FIELDS(F)                                                                               \
	F(TASK_TASKS, "task_struct", "tasks")                                                      \
	F(TASK_COMM, "task_struct", "comm")                                                        \
	F(TASK_PID, "task_struct", "pid")                                                          \
	F(TASK_TGID, "task_struct", "tgid")                                                        \
	F(TASK_MM, "task_struct", "mm")                                                            \
	F(TASK_LEADER, "task_struct", "group_leader")                                              \
	F(TASK_PARENT, "task_struct", "real_parent")                                               \
	F(TASK_SIGNAL, "task_struct", "signal")                                                    \
	F(TASK_NODE, "task_struct", "thread_node")                                                 \
	F(TASK_STACK, "task_struct", "stack")                                                      \
	F(TASK_STACK_AREA, "task_struct", "stack_vm_area") /* CONFIG_VMAP_STACK */                 \
	F(TASK_THREAD_PID, "task_struct", "thread_pid")                                            \
	F(TASK_PID_LINKS, "task_struct", "pid_links")                                              \
	F(TASK_FLAGS, "task_struct", "flags")                                                      \
	F(TASK_STATE, "task_struct", "__state") /* since 5.14 */                                   \
	F(TASK_STATE_OLD, "task_struct", "state")                                                  \
	F(TASK_EXIT_STATE, "task_struct", "exit_state")                                            \
	F(TASK_ON_CPU, "task_struct", "on_cpu") /* CONFIG_SMP */                                   \
	F(TASK_SP, "task_struct", "thread.sp")                                                     \
	F(TASK_DS, "task_struct", "thread.ds")                                                     \
	F(TASK_ES, "task_struct", "thread.es")                                                     \
	F(TASK_FS, "task_struct", "thread.fsindex")                                                \
	F(TASK_GS, "task_struct", "thread.gsindex")                                                \
	F(TASK_FS_BASE, "task_struct", "thread.fsbase")                                            \
	F(TASK_GS_BASE, "task_struct", "thread.gsbase")                                            \
	F(FRAME_R15, "inactive_task_frame", "r15")                                                 \
	F(FRAME_R14, "inactive_task_frame", "r14")                                                 \
	F(FRAME_R13, "inactive_task_frame", "r13")                                                 \
	F(FRAME_R12, "inactive_task_frame", "r12")                                                 \
	F(FRAME_BX, "inactive_task_frame", "bx")                                                   \
	F(FRAME_BP, "inactive_task_frame", "bp")                                                   \
	F(FRAME_RETURN, "inactive_task_frame", "ret_addr")                                         \
	F(REGS_AX, "pt_regs", "ax")                                                                \
	F(REGS_BX, "pt_regs", "bx")                                                                \
	F(REGS_CX, "pt_regs", "cx")                                                                \
	F(REGS_DX, "pt_regs", "dx")                                                                \
	F(REGS_SI, "pt_regs", "si")                                                                \
	F(REGS_DI, "pt_regs", "di")                                                                \
	F(REGS_BP, "pt_regs", "bp")                                                                \
	F(REGS_SP, "pt_regs", "sp")                                                                \
	F(REGS_R8, "pt_regs", "r8")                                                                \
	F(REGS_R9, "pt_regs", "r9")                                                                \
	F(REGS_R10, "pt_regs", "r10")                                                              \
	F(REGS_R11, "pt_regs", "r11")                                                              \
	F(REGS_R12, "pt_regs", "r12")                                                              \
	F(REGS_R13, "pt_regs", "r13")                                                              \
	F(REGS_R14, "pt_regs", "r14")                                                              \
	F(REGS_R15, "pt_regs", "r15")                                                              \
	F(REGS_IP, "pt_regs", "ip")                                                                \
	F(REGS_CS, "pt_regs", "cs")                                                                \
	F(REGS_FLAGS, "pt_regs", "flags")                                                          \
	F(REGS_SS, "pt_regs", "ss")                                                                \
	F(REGS_NR, "pt_regs", "orig_ax")                                                           \
	F(ORC_SP_OFFSET, "orc_entry", "sp_offset")                                                 \
	F(ORC_BP_OFFSET, "orc_entry", "bp_offset")                                                 \
	F(ORC_SP_REG, "orc_entry", "sp_reg")                                                       \
	F(ORC_BP_REG, "orc_entry", "bp_reg")                                                       \
	F(ORC_TYPE, "orc_entry", "type")                                                           \
	F(ORC_SIGNAL, "orc_entry", "signal") /* since 6.3 */                                       \
	F(ORC_END, "orc_entry", "end")	     /* until 6.3 */                                       \
	F(TSS_SP0, "tss_struct", "x86_tss.sp0")                                                    \
	F(CEA_DF, "cea_exception_stacks", "DF_stack")                                              \
	F(CEA_NMI, "cea_exception_stacks", "NMI_stack")                                            \
	F(CEA_DB, "cea_exception_stacks", "DB_stack")                                              \
	F(CEA_MCE, "cea_exception_stacks", "MCE_stack")                                            \
	F(CEA_VC, "cea_exception_stacks", "VC_stack")                                              \
	F(CEA_VC2, "cea_exception_stacks", "VC2_stack")                                            \
	F(SIGNAL_THREADS, "signal_struct", "thread_head")                                          \
	F(PID_NUMBERS, "pid", "numbers")                                                           \
	F(PID_TASKS, "pid", "tasks")                                                               \
	F(UPID_NR, "upid", "nr")                                                                   \
	F(MM_PGD, "mm_struct", "pgd")                                                              \
	F(MM_TREE_ROOT, "mm_struct", "mm_mt.ma_root") /* since 6.1 */                              \
	F(MM_TREE, "mm_struct", "mm_mt")                                                           \
	F(MM_LIST, "mm_struct", "mmap") /* until 6.0 */                                            \
	F(MM_COUNT, "mm_struct", "map_count")                                                      \
	F(MM_HEAP_FROM, "mm_struct", "start_brk")                                                  \
	F(MM_HEAP_TO, "mm_struct", "brk")                                                          \
	F(MM_STACK, "mm_struct", "start_stack")                                                    \
	F(VMA_START, "vm_area_struct", "vm_start")                                                 \
	F(VMA_END, "vm_area_struct", "vm_end")                                                     \
	F(VMA_FLAGS, "vm_area_struct", "vm_flags")                                                 \
	F(VMA_PGOFF, "vm_area_struct", "vm_pgoff")                                                 \
	F(VMA_FILE, "vm_area_struct", "vm_file")                                                   \
	F(VMA_MM, "vm_area_struct", "vm_mm")                                                       \
	F(VMA_OPS, "vm_area_struct", "vm_ops")                                                     \
	F(VMA_PRIVATE, "vm_area_struct", "vm_private_data")                                        \
	F(VMA_NEXT, "vm_area_struct", "vm_next") /* until 6.0 */                                   \
	F(KERNEL_AREA_ADDRESS, "vm_struct", "addr")                                                \
	F(KERNEL_AREA_PAGES, "vm_struct", "pages")                                                 \
	F(SPECIAL_NAME, "vm_special_mapping", "name")                                              \
	F(RANGE_PARENT, "maple_range_64", "parent")                                                \
	F(RANGE_PIVOT, "maple_range_64", "pivot")                                                  \
	F(RANGE_SLOT, "maple_range_64", "slot")                                                    \
	F(ARANGE_PIVOT, "maple_arange_64", "pivot")                                                \
	F(ARANGE_SLOT, "maple_arange_64", "slot")                                                  \
	F(FILE_DENTRY, "file", "f_path.dentry")                                                    \
	F(FILE_MNT, "file", "f_path.mnt")                                                          \
	F(FILE_MAPPING, "file", "f_mapping")                                                       \
	F(MAPPING_HOST, "address_space", "host")                                                   \
	F(MAPPING_ROOT, "address_space", "i_pages.xa_head") /* since 4.20 */                       \
	F(INODE_MAPPING, "inode", "i_mapping")                                                     \
	F(INODE_SIZE, "inode", "i_size")                                                           \
	F(XA_SHIFT, "xa_node", "shift")                                                            \
	F(XA_PARENT, "xa_node", "parent")                                                          \
	F(XA_ARRAY, "xa_node", "array")                                                            \
	F(XA_SLOTS, "xa_node", "slots")                                                            \
	F(FOLIO_MAPPING, "folio", "mapping") /* since 5.16 */                                      \
	F(FOLIO_INDEX, "folio", "index")                                                           \
	F(PAGE_MAPPING, "page", "mapping")                                                         \
	F(PAGE_INDEX, "page", "index")                                                             \
	F(DENTRY_PARENT, "dentry", "d_parent")                                                     \
	F(DENTRY_NAME, "dentry", "d_name.name")                                                    \
	F(DENTRY_LEN, "dentry", "d_name.len")                                                      \
	F(DENTRY_HASH, "dentry", "d_hash.pprev")                                                   \
	F(MOUNT_MNT, "mount", "mnt")                                                               \
	F(MOUNT_PARENT, "mount", "mnt_parent")                                                     \
	F(MOUNT_POINT, "mount", "mnt_mountpoint")                                                  \
	F(VFSMOUNT_ROOT, "vfsmount", "mnt_root")                                                   \
	F(CPUINFO_ID, "cpuinfo_x86", "topo.initial_apicid") /* since 6.7 */                        \
	F(CPUINFO_ID_OLD, "cpuinfo_x86", "initial_apicid")                                         \
	F(CPUINFO_INDEX, "cpuinfo_x86", "cpu_index")                                               \
	F(HOT_TASK, "pcpu_hot", "current_task") /* 6.2 to 6.14 */                                  \
	F(HOT_CPU, "pcpu_hot", "cpu_number")                                                       \
	F(HOT_IRQ_STACK, "pcpu_hot", "hardirq_stack_ptr")                                          \
	F(TK_SEC, "timekeeper", "xtime_sec")                                                       \
	F(TK_NSEC, "timekeeper", "tkr_mono.xtime_nsec")                                            \
	F(TK_SHIFT, "timekeeper", "tkr_mono.shift")                                                \
	F(TK_CLOCK, "timekeeper", "tkr_mono.clock")                                                \
	F(TK_TO_MONO_SEC, "timekeeper", "wall_to_monotonic.tv_sec")                                \
	F(TK_TO_MONO_NSEC, "timekeeper", "wall_to_monotonic.tv_nsec")                              \
	F(CLOCK_NAME, "clocksource", "name")                                                       \
	F(TKDATA_TK, "tk_data", "timekeeper") /* since 6.13 */                                     \
	F(MODULE_LIST, "module", "list")                                                           \
	F(MODULE_NAME, "module", "name")                                                           \
	F(MODULE_STATE, "module", "state")                                                         \
	F(MODULE_BACK, "module", "mkobj.mod")                                                      \
	F(MODULE_KOBJECT_NAME, "module", "mkobj.kobj.name")                                        \
	F(MODULE_BASE, "module", "core_layout.base") /* until 6.3 */                               \
	F(MODULE_BYTES, "module", "core_layout.size")                                              \
	F(MODULE_CODE_BYTES, "module", "core_layout.text_size")                                    \
	F(MODULE_INIT, "module", "init_layout.base")                                               \
	F(MODULE_INIT_BYTES, "module", "init_layout.size")                                         \
	F(MODULE_INIT_CODE_BYTES, "module", "init_layout.text_size")                               \
	F(MODULE_MEM, "module", "mem") /* since 6.4 */                                             \
	F(MODULE_KALLSYMS, "module", "kallsyms")                                                   \
	F(MODULE_EXPORTS, "module", "syms")                                                        \
	F(MODULE_N_EXPORTS, "module", "num_syms")                                                  \
	F(MODULE_GPL_EXPORTS, "module", "gpl_syms")                                                \
	F(MODULE_N_GPL_EXPORTS, "module", "num_gpl_syms")                                          \
	F(MODULE_ORCS, "module", "arch.num_orcs") /* CONFIG_UNWINDER_ORC */                        \
	F(MODULE_ORC_IPS, "module", "arch.orc_unwind_ip")                                          \
	F(MODULE_ORC_ROWS, "module", "arch.orc_unwind")                                            \
	F(MODMEM_BASE, "module_memory", "base")                                                    \
	F(MODMEM_BYTES, "module_memory", "size")                                                   \
	F(MODSYMS_TABLE, "mod_kallsyms", "symtab")                                                 \
	F(MODSYMS_COUNT, "mod_kallsyms", "num_symtab")                                             \
	F(MODSYMS_TEXTS, "mod_kallsyms", "strtab")                                                 \
	F(BPF_KSYM_START, "bpf_ksym", "start") /* since 5.7 */                                     \
	F(BPF_KSYM_END, "bpf_ksym", "end")                                                         \
	F(BPF_KSYM_NAME, "bpf_ksym", "name")                                                       \
	F(BPF_KSYM_NODE, "bpf_ksym", "lnode")                                                      \
	F(BPF_KSYM_PROG, "bpf_ksym", "prog")                                                       \
	F(BPF_AUX_KSYM, "bpf_prog_aux", "ksym")                                                    \
	F(BPF_AUX_PROG, "bpf_prog_aux", "prog")                                                    \
	F(BPF_PROG_AUX, "bpf_prog", "aux")                                                         \
	F(BPF_PROG_FUNC, "bpf_prog", "bpf_func")                                                   \
	F(BPF_PROG_BYTES, "bpf_prog", "jited_len")                                                 \
	F(BPF_PROG_TAG, "bpf_prog", "tag")

/* The structs whose sizes are used. */
#define RS_STRUCTS(S)                                                                              \
	S(TASK, "task_struct")                                                                     \
	S(FRAME, "inactive_task_frame")                                                            \
	S(REGS, "pt_regs")                                                                         \
	S(ORC, "orc_entry")                                                                        \
	S(IRQ_STACK, "irq_stack")                                                                  \
	S(ENTRY_STACK, "entry_stack")                                                              \
	S(PID, "pid")                                                                              \
	S(VMA, "vm_area_struct")                                                                   \
	S(PAGE, "page")                                                                            \
	S(RANGE, "maple_range_64")                                                                 \
	S(ARANGE, "maple_arange_64")                                                               \
	S(SEQCOUNT, "seqcount_raw_spinlock")                                                       \
	S(MODULE, "module")                                                                        \
	S(MODULE_MEMORY, "module_memory")                                                          \
	S(TIMEKEEPER, "timekeeper")

#define RS_FIELD_NUMBER(id, type, path) RS_FIELD_##id,
enum rs_field_id { RS_FIELDS(RS_FIELD_NUMBER) RS_N_FIELDS };
#undef RS_FIELD_NUMBER

#define RS_STRUCT_NUMBER(id, name) RS_STRUCT_##id,
enum rs_struct_id { RS_STRUCTS(RS_STRUCT_NUMBER) RS_N_STRUCTS };
#undef RS_STRUCT_NUMBER

struct rs_fields {
	struct {
		bool found;
		struct rs_btf_member member;
	} fields[RS_N_FIELDS];
	uint32_t struct_bytes[RS_N_STRUCTS]; /* 0: the kernel has no such struct */
};

void rs_fields_find(const struct rs_btf *btf, struct rs_fields *fields);

/* Returns a field's name, such as "task_struct.pid". The name is valid until the thread's next
 * call. */
const char *rs_field_name(enum rs_field_id id);

#endif
