/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats of exits: kvmexit's forms, byte for byte as in its documentation, with the widths of
 * its print statements; the latency table, distributions, causes, shares; JSON, CSV.
 */
#include "exits_kit.h"

#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

#include "view/view.h"
#include "view/exits.h"

#define HLT   12u
#define IO    30u
#define MSR_W 32u
#define EPT   48u

/* The output, in memory. */
static char *printed(const struct rs_exits_show *show, const struct rs_exits *exits)
{
	struct rs_exits_show s = *show;
	char *text;
	off_t bytes;

	s.fd = memfd_create("printed", MFD_CLOEXEC);
	CHECK_OK(rs_exits_print(&s, exits));
	bytes = lseek(s.fd, 0, SEEK_END);
	text = calloc(1, (size_t)bytes + 1);
	CHECK(pread(s.fd, text, (size_t)bytes, 0) == bytes);
	close(s.fd);
	return text;
}

static void check_print(const struct rs_exits_show *show, const struct rs_exits *exits,
			const char *expected)
{
	char *text = printed(show, exits);

	CHECK_STR(text, expected);
	free(text);
}

static void check_banner(struct rs_exits_choice choice, uint64_t duration_ns, const char *trace,
			 const char *expected)
{
	struct rs_exits_show show = { .choice = choice, .trace = trace };
	char text[512] = { 0 };

	show.fd = memfd_create("banner", MFD_CLOEXEC);
	CHECK_OK(rs_exits_banner(&show, duration_ns));
	CHECK(pread(show.fd, text, sizeof(text) - 1, 0) >= 0);
	CHECK_STR(text, expected);
	close(show.fd);
}

/* ---- kvmexit's forms ------------------------------------------------------------------------ */

#define DISPLAY "Display kvm exit reasons and statistics for "

TEST(banners_equal_kvmexit_s)
{
	static const int tids[] = { 1273820, 1273819 };
	const struct rs_exits_choice all = { .scope = RS_EXITS_ALL };
	const struct rs_exits_choice pid = { .scope = RS_EXITS_PID, .pid = 1273795 };
	const struct rs_exits_choice each = { .scope = RS_EXITS_PID_TIDS, .pid = 1273795 };
	const struct rs_exits_choice vcpu = { .scope = RS_EXITS_VCPU, .pid = 1273795 };
	const struct rs_exits_choice tid = { .scope = RS_EXITS_TID, .tid = 1273819 };
	const struct rs_exits_choice list = { .scope = RS_EXITS_TIDS, .tids = tids, .n_tids = 2 };
	const struct rs_exits_choice vm = { .scope = RS_EXITS_VM, .vm = "web*" };
	const struct rs_exits_choice vm_tid = { .scope = RS_EXITS_TID, .tid = 5, .vm = "web" };

	check_banner(all, 0, NULL, DISPLAY "all threads... Hit Ctrl-C to end.\n");
	check_banner(all, 6000000000, NULL, DISPLAY "all threads after sleeping 6 secs.\n");
	check_banner(all, 1500000000, NULL, DISPLAY "all threads after sleeping 1.500 secs.\n");
	check_banner(pid, 5000000000, NULL, DISPLAY "PID 1273795 after sleeping 5 secs.\n");
	check_banner(each, 5000000000, NULL,
		     DISPLAY "PID 1273795 and its all threads after sleeping 5 secs.\n");
	check_banner(vcpu, 0, NULL, DISPLAY "PID 1273795 VCPU 0... Hit Ctrl-C to end.\n");
	check_banner(tid, 10000000000, NULL, DISPLAY "TID 1273819 after sleeping 10 secs.\n");
	check_banner(list, 0, NULL, DISPLAY "TIDS ['1273820', '1273819']... Hit Ctrl-C to end.\n");
	check_banner(vm, 0, NULL, DISPLAY "VM web*... Hit Ctrl-C to end.\n");
	check_banner(vm_tid, 0, "dir/trace", DISPLAY "TID 5 of VM web in dir/trace.\n");
}

static const struct rs_hist no_hist;

/* From kvmexit's example of `-p 1273795 5 -a`: two threads, and one of another process. */
#define ROW(p, t, c, n)                                                                            \
	{                                                                                          \
		.pid = p, .tid = t, .vcpu = 0, .isa = RS_ISA_VMX, .code = c, .count = n,           \
		.hist = &no_hist                                                                   \
	}
static const struct rs_exits_row seed_rows[] = {
	ROW(1273551, 1273568, 12, 12),	 ROW(1273551, 1273568, 32, 6),
	ROW(1273795, 1273819, 1, 64),	 ROW(1273795, 1273819, 12, 2802),
	ROW(1273795, 1273819, 48, 6),	 ROW(1273795, 1273820, 12, 2054),
	ROW(1273795, 1273820, 32, 5199), ROW(1273795, 1273820, 52, 102),
};
static const struct rs_exits seed = { .rows = seed_rows, .n_rows = 8 };

TEST(counts_over_all_threads)
{
	const struct rs_exits_show show = { .choice = { .scope = RS_EXITS_ALL } };

	check_print(&show, &seed,
		    "PID      TID      KVM_EXIT_REASON                     COUNT\n"
		    "1273551  1273568  EXIT_REASON_HLT                     12      \n"
		    "1273551  1273568  EXIT_REASON_MSR_WRITE               6       \n"
		    "1273795  1273819  EXIT_REASON_EXTERNAL_INTERRUPT      64      \n"
		    "1273795  1273819  EXIT_REASON_HLT                     2802    \n"
		    "1273795  1273819  EXIT_REASON_EPT_VIOLATION           6       \n"
		    "1273795  1273820  EXIT_REASON_HLT                     2054    \n"
		    "1273795  1273820  EXIT_REASON_MSR_WRITE               5199    \n"
		    "1273795  1273820  EXIT_REASON_PREEMPTION_TIMER        102     \n");
}

TEST(counts_of_a_process_are_sorted_descending)
{
	struct rs_exits_show show = { .choice = { .scope = RS_EXITS_PID, .pid = 1273795 } };

	check_print(&show, &seed,
		    "KVM_EXIT_REASON                     COUNT\n"
		    "MSR_WRITE                           5199    \n"
		    "HLT                                 4856    \n"
		    "PREEMPTION_TIMER                    102     \n"
		    "EXTERNAL_INTERRUPT                  64      \n"
		    "EPT_VIOLATION                       6       \n");
	show.choice = (struct rs_exits_choice){ .scope = RS_EXITS_TID, .tid = 1273820 };
	check_print(&show, &seed,
		    "KVM_EXIT_REASON                     COUNT\n"
		    "MSR_WRITE                           5199    \n"
		    "HLT                                 2054    \n"
		    "PREEMPTION_TIMER                    102     \n");
	show.has_head = true; /* it was printed before the wait */
	show.choice.tid = 4711;
	check_print(&show, &seed, "");
}

TEST(counts_of_each_thread)
{
	static const int tids[] = { 1273568, 1273819 };
	struct rs_exits_show show = { .choice = { .scope = RS_EXITS_PID_TIDS, .pid = 1273795 } };

	check_print(&show, &seed,
		    "TID      KVM_EXIT_REASON                     COUNT\n"
		    "1273819  EXTERNAL_INTERRUPT                  64      \n"
		    "1273819  HLT                                 2802    \n"
		    "1273819  EPT_VIOLATION                       6       \n"
		    "1273820  HLT                                 2054    \n"
		    "1273820  MSR_WRITE                           5199    \n"
		    "1273820  PREEMPTION_TIMER                    102     \n");
	show.choice = (struct rs_exits_choice){ .scope = RS_EXITS_TIDS, .tids = tids, .n_tids = 2 };
	check_print(&show, &seed,
		    "TIDS     KVM_EXIT_REASON                     COUNT\n"
		    "1273568  HLT                                 12      \n"
		    "1273568  MSR_WRITE                           6       \n"
		    "1273819  EXTERNAL_INTERRUPT                  64      \n"
		    "1273819  HLT                                 2802    \n"
		    "1273819  EPT_VIOLATION                       6       \n");
}

/*
 * vCPU 1 is distinct from vCPU 10, a reason without a name is a number, nested ones are separate.
 */
TEST(odd_reasons)
{
	static const struct rs_exits_row rows[] = {
		{ .pid = 7,
		  .tid = 8,
		  .vcpu = 1,
		  .isa = RS_ISA_VMX,
		  .code = 86,
		  .count = 1,
		  .hist = &no_hist },
		{ .pid = 7,
		  .tid = 8,
		  .vcpu = 1,
		  .isa = RS_ISA_SVM,
		  .code = 0x8000fffc,
		  .count = 2,
		  .hist = &no_hist },
		{ .pid = 7,
		  .tid = 8,
		  .vcpu = 1,
		  .isa = RS_ISA_SVM,
		  .code = 0x400,
		  .nested = 1,
		  .count = 3,
		  .hist = &no_hist },
		{ .pid = 7,
		  .tid = 8,
		  .vcpu = 1,
		  .isa = RS_ISA_VMX,
		  .code = 0x80000021,
		  .count = 4,
		  .hist = &no_hist },
		{ .pid = 7,
		  .tid = 9,
		  .vcpu = 10,
		  .isa = RS_ISA_VMX,
		  .code = 12,
		  .count = 99,
		  .hist = &no_hist },
	};
	const struct rs_exits exits = { .rows = rows, .n_rows = 5 };
	struct rs_exits_show show = { .choice = { .scope = RS_EXITS_VCPU, .pid = 7, .vcpu = 1 } };

	check_print(&show, &exits,
		    "KVM_EXIT_REASON                     COUNT\n"
		    "INVALID_STATE (failed entry)        4       \n"
		    "NPF (nested)                        3       \n"
		    "0x8000fffc                          2       \n"
		    "86                                  1       \n");
	show.choice = (struct rs_exits_choice){ .scope = RS_EXITS_ALL };
	check_print(&show, &exits,
		    "PID      TID      KVM_EXIT_REASON                     COUNT\n"
		    "7        8        86                                  1       \n"
		    "7        8        0x8000fffc                          2       \n"
		    "7        8        NPF (nested)                        3       \n"
		    "7        8        EXIT_REASON_INVALID_STATE (failed entry) 4       \n"
		    "7        9        EXIT_REASON_HLT                     99      \n");
}

/* ---- our own -------------------------------------------------------------------------------- */

/* A VM of two vCPUs, whose times are computed in the tests below. */
static void example(struct kit *k)
{
	const struct rs_exits_options options = { .latency = true, .causes = true };

	kit_init(k, &options);
	kit_thread(k, 100, 101, "web", 0);
	kit_thread(k, 100, 102, "web", 1);
	kit_entry(k, 0, 101, 0);
	kit_entry(k, 0, 102, 1);
	/* two of 1000 (kernel 400, user 600) and 3000 (1000, 2000) at COM1 */
	kit_vmx_exit(k, 1000, 101, IO);
	kit_put(k, 1100, 101, "io", "pio", { "port", 0x3f8 }, { "write", 1 });
	kit_user_exit(k, 1400, 101, 2);
	kit_entry(k, 2000, 101, 0);
	kit_vmx_exit(k, 2000, 102, IO);
	kit_put(k, 2100, 102, "io", "pio", { "port", 0x3f8 }, { "write", 1 });
	kit_user_exit(k, 3000, 102, 2);
	kit_entry(k, 5000, 102, 1);
	/* a halt of 1000000: asleep except for 1000 */
	kit_vmx_exit(k, 10000, 101, HLT);
	kit_off(k, 10600, 101, 1);
	kit_wake(k, 1009600, 101);
	kit_on(k, 1009600, 101);
	kit_entry(k, 1010000, 101, 0);
	/* seen alone */
	kit_vmx_exit(k, 2000000, 102, EPT);
	kit_take(k, true, 0);
}

TEST(latencies)
{
	struct rs_exits_show show = { .choice = { .scope = RS_EXITS_PID, .pid = 100 },
				      .latency = true };
	struct kit k;

	example(&k);
	/*
	 * handled: IO 4000 of 5000, HLT 1000. Percentiles are precise to buckets of an eighth: the
	 * median of 1000 and 3000 is the end of 1000's bucket, 960..1023; the others are the
	 * maximum.
	 */
	check_print(&show, &k.exits,
		    "REASON              COUNT  COUNT%   TOTAL  SHARE%     MIN    MEAN     P50"
		    "     P95     P99     MAX  KERNEL    USER    POLL     OFF\n"
		    "IO_INSTRUCTION          2    50.0  4.00us    80.0  1.00us  2.00us  1.02us"
		    "  3.00us  3.00us  3.00us  1.40us  2.60us       0       0\n"
		    "HLT                     1    25.0  1.00ms    20.0  1.00ms  1.00ms  1.00ms"
		    "  1.00ms  1.00ms  1.00ms  1.00us       0       0   999us\n"
		    "EPT_VIOLATION           1    25.0       -       -       -       -       -"
		    "       -       -       -       -       -       -       -\n");
	show.choice = (struct rs_exits_choice){ .scope = RS_EXITS_ALL };
	check_print(&show, &k.exits,
		    "VM        REASON              COUNT  COUNT%   TOTAL  SHARE%     MIN    MEAN"
		    "     P50     P95     P99     MAX  KERNEL    USER    POLL     OFF\n"
		    "web       IO_INSTRUCTION          2    50.0  4.00us    80.0  1.00us  2.00us"
		    "  1.02us  3.00us  3.00us  3.00us  1.40us  2.60us       0       0\n"
		    "web       HLT                     1    25.0  1.00ms    20.0  1.00ms  1.00ms"
		    "  1.00ms  1.00ms  1.00ms  1.00ms  1.00us       0       0   999us\n"
		    "web       EPT_VIOLATION           1    25.0       -       -       -       -"
		    "       -       -       -       -       -       -       -       -\n");
	/* by thread; equal times and counts by number */
	show.choice = (struct rs_exits_choice){ .scope = RS_EXITS_PID_TIDS, .pid = 100 };
	check_print(&show, &k.exits,
		    "     TID  REASON              COUNT  COUNT%   TOTAL  SHARE%     MIN    MEAN"
		    "     P50     P95     P99     MAX  KERNEL    USER    POLL     OFF\n"
		    "     101  HLT                     1    25.0  1.00ms    20.0  1.00ms  1.00ms"
		    "  1.00ms  1.00ms  1.00ms  1.00ms  1.00us       0       0   999us\n"
		    "     101  IO_INSTRUCTION          1    25.0  1.00us    20.0  1.00us  1.00us"
		    "  1.00us  1.00us  1.00us  1.00us   400ns   600ns       0       0\n"
		    "     102  IO_INSTRUCTION          1    25.0  3.00us    60.0  3.00us  3.00us"
		    "  3.00us  3.00us  3.00us  3.00us  1.00us  2.00us       0       0\n"
		    "     102  EPT_VIOLATION           1    25.0       -       -       -       -"
		    "       -       -       -       -       -       -       -       -\n");
	kit_free(&k);
}

/* With the format of bcc's print_log2_hist(). */
TEST(distributions)
{
	struct rs_hist small = { 0 }, large = { 0 };
	struct rs_exits_row row = {
		.tid = 1, .isa = RS_ISA_SVM, .code = 0x78, .count = 8, .entered = 8, .hist = &small
	};
	const struct rs_exits exits = { .latency = true, .rows = &row, .n_rows = 1 };
	const struct rs_exits_show show = { .choice = { .scope = RS_EXITS_TID, .tid = 1 },
					    .has_head = true,
					    .hist = true };
	char *text;

	small.count[rs_hist_bucket(0)] = 1;
	small.count[rs_hist_bucket(1)] = 1;
	small.count[rs_hist_bucket(5)] = 1;
	small.count[rs_hist_bucket(9)] = 4;
	check_print(
		&show, &exits,
		"HLT                                 8       \n"
		"\n"
		"HLT\n"
		"     nsecs               : count    distribution\n"
		"         0 -> 1          : 2        |********************                    |\n"
		"         2 -> 3          : 0        |                                        |\n"
		"         4 -> 7          : 1        |**********                              |\n"
		"         8 -> 15         : 4        |****************************************|\n");
	large.count[rs_hist_bucket(UINT64_C(1) << 33)] = 1;
	row.hist = &large;
	text = printed(&show, &exits);
	CHECK(strstr(text,
		     "               nsecs                         : count    distribution\n"));
	CHECK(strstr(text, "          8589934592 -> 17179869183          : 1        "
			   "|********************|\n"));
	free(text);
}

TEST(causes_and_shares)
{
	struct rs_exits_show show = { .choice = { .scope = RS_EXITS_PID, .pid = 100 },
				      .has_head = true,
				      .causes = true };
	struct rs_exits none;
	struct kit k;

	example(&k);
	none = k.exits;
	none.n_rows = 0;
	check_print(&show, &none,
		    "\n"
		    "KIND        WHAT                COUNT   TOTAL  SHARE%    MEAN     MAX\n"
		    "pio write   0x3f8 (com1)            2  4.00us   100.0  2.00us  3.00us\n");
	show.causes = false;
	show.shares = true;
	/* 101: guest 1000 + 8000 + 990000 of 2000000, and so on */
	check_print(&show, &none,
		    "\n"
		    "VM        VCPU       TID     EXITS    WALL  GUEST%  KERNEL%  USER%  POLL%"
		    "  HALTED%  BLOCKED%  WAIT%  UNKNOWN%\n"
		    "web          0       101         2  2.00ms    50.0      0.1    0.0    0.0"
		    "     50.0       0.0    0.0       0.0\n"
		    "web          1       102         2  2.00ms    99.8      0.1    0.1    0.0"
		    "      0.0       0.0    0.0       0.0\n");
	kit_free(&k);
}

TEST(the_costliest_causes_first_and_the_number_of_others)
{
	static const struct rs_exits_cause causes[] = {
		{ .tid = 1,
		  .kind = RS_CAUSE_MSR_WRITE,
		  .key = 0x6e0,
		  .count = 3,
		  .entered = 3,
		  .total_ns = 300,
		  .max_ns = 150 },
		{ .tid = 2,
		  .kind = RS_CAUSE_CPUID,
		  .key = 1,
		  .count = 2,
		  .entered = 1,
		  .total_ns = 500,
		  .max_ns = 500 },
		{ .tid = 2,
		  .kind = RS_CAUSE_MSR_WRITE,
		  .key = 0x6e0,
		  .count = 3,
		  .entered = 2,
		  .total_ns = 400,
		  .max_ns = 250 },
		{ .tid = 2, .kind = RS_CAUSE_INTERRUPT, .key = 0xfd, .count = 9 },
	};
	const struct rs_exits exits = { .latency = true, .cause_rows = causes, .n_causes = 4 };
	struct rs_exits_show show = {
		.choice = { .scope = RS_EXITS_VM }, .has_head = true, .causes = true, .top = 2
	};

	check_print(&show, &exits,
		    "\n"
		    "KIND        WHAT                     COUNT   TOTAL  SHARE%    MEAN     MAX\n"
		    "msr write   0x6e0 (TSC_DEADLINE)         6   700ns    58.3   140ns   250ns\n"
		    "cpuid       0x1 (features)               2   500ns    41.7   500ns   500ns\n"
		    "1 more (--top 0 shows all)\n");
	show.top = 0;
	show.choice.scope = RS_EXITS_TIDS;
	show.choice.tids = (const int[]){ 2 };
	show.choice.n_tids = 1;
	check_print(
		&show, &exits,
		"\n"
		"     TID  KIND        WHAT                         COUNT   TOTAL  SHARE%    MEAN"
		"     MAX\n"
		"       2  cpuid       0x1 (features)                   2   500ns    55.6   500ns"
		"   500ns\n"
		"       2  msr write   0x6e0 (TSC_DEADLINE)             3   400ns    44.4   200ns"
		"   250ns\n"
		"       2  interrupt   0xfd (Linux: reschedule)         9       -       -       -"
		"       -\n");
}

/* ---- for programs --------------------------------------------------------------------------- */

static json_int_t at(const json_t *json, const char *array, size_t index, const char *key)
{
	return json_integer_value(
		json_object_get(json_array_get(json_object_get(json, array), index), key));
}

static const char *text_at(const json_t *json, const char *array, size_t index, const char *key)
{
	return json_string_value(
		json_object_get(json_array_get(json_object_get(json, array), index), key));
}

TEST(json)
{
	const struct rs_exits_show show = { .form = RS_TABLE_JSON,
					    .choice = { .scope = RS_EXITS_ALL },
					    .latency = true,
					    .hist = true,
					    .causes = true,
					    .trace = "dir/t" };
	struct kit k;
	json_t *json;
	char *text;

	example(&k);
	k.exits.lost = UINT64_C(1) << 60; /* more than a double can represent */
	text = printed(&show, &k.exits);
	json = json_loads(text, 0, NULL);
	REQUIRE(json != NULL);
	CHECK(strchr(text, '\n') == text + strlen(text) - 1); /* one line */
	CHECK_STR(json_string_value(json_object_get(json, "report")), "exits");
	CHECK_STR(json_string_value(json_object_get(json, "trace")), "dir/t");
	CHECK_EQ_S64(json_integer_value(json_object_get(json, "lost")), 1152921504606846976);
	CHECK_EQ_S64(json_integer_value(json_object_get(json, "duration_ns")), 2000000);
	CHECK_EQ_U64(json_array_size(json_object_get(json, "rows")), 4);
	CHECK_STR(text_at(json, "rows", 0, "reason"), "HLT");
	CHECK_STR(text_at(json, "rows", 0, "isa"), "vmx");
	CHECK_STR(text_at(json, "rows", 0, "vm"), "web");
	CHECK_EQ_S64(at(json, "rows", 0, "pid"), 100);
	CHECK_EQ_S64(at(json, "rows", 0, "tid"), 101);
	CHECK_EQ_S64(at(json, "rows", 0, "vcpu"), 0);
	CHECK_EQ_S64(at(json, "rows", 0, "code"), 12);
	CHECK_EQ_S64(at(json, "rows", 0, "count"), 1);
	CHECK_EQ_S64(at(json, "rows", 0, "total_ns"), 1000000);
	CHECK_EQ_S64(at(json, "rows", 0, "kernel_ns"), 1000);
	CHECK_EQ_S64(at(json, "rows", 0, "off_ns"), 999000);
	CHECK_EQ_S64(at(json, "rows", 0, "p99_ns"), 1000000);
	CHECK_STR(text_at(json, "rows", 3, "reason"), "EPT_VIOLATION");
	CHECK_EQ_S64(at(json, "rows", 3, "entered"), 0);
	CHECK_EQ_U64(json_array_size(json_object_get(json, "vcpus")), 2);
	CHECK_EQ_S64(at(json, "vcpus", 0, "guest_ns"), 1000 + 8000 + 990000);
	CHECK_EQ_S64(at(json, "vcpus", 0, "halted_ns"), 999000);
	CHECK_EQ_S64(at(json, "vcpus", 0, "wall_ns"), 2000000);
	CHECK_EQ_U64(json_array_size(json_object_get(json, "causes")), 2);
	CHECK_STR(text_at(json, "causes", 0, "kind"), "pio write");
	CHECK_STR(text_at(json, "causes", 0, "what"), "0x3f8 (com1)");
	CHECK_EQ_S64(at(json, "causes", 0, "total_ns"), 3000);
	json_decref(json);
	free(text);
	kit_free(&k);
}

/* A sum of rows belongs to no single thread; counts have no times. */
TEST(json_of_a_process)
{
	const struct rs_exits_show show = { .form = RS_TABLE_JSON,
					    .choice = { .scope = RS_EXITS_PID, .pid = 1273795 } };

	check_print(&show, &(struct rs_exits){ .rows = seed_rows + 2, .n_rows = 1, .to_ns = 5 },
		    "{\"report\":\"exits\",\"trace\":null,\"from_ns\":0,\"to_ns\":5,"
		    "\"duration_ns\":5,\"lost\":0,\"dropped\":0,\"rows\":[{\"vm\":null,"
		    "\"pid\":1273795,\"tid\":1273819,\"vcpu\":0,\"isa\":\"vmx\",\"code\":1,"
		    "\"nested\":false,\"reason\":\"EXTERNAL_INTERRUPT\",\"count\":64}]}\n");
}

TEST(csv)
{
	static const struct rs_exits_row rows[] = {
		{ .vm = "a,\"b\"\nc",
		  .pid = 7,
		  .tid = 8,
		  .vcpu = 1,
		  .isa = RS_ISA_SVM,
		  .code = 0xffffffff,
		  .nested = 1,
		  .count = 2,
		  .hist = &no_hist },
		{ .vcpu = -1,
		  .tid = 9,
		  .isa = RS_ISA_VMX,
		  .code = 12,
		  .count = 5,
		  .hist = &no_hist },
	};
	const struct rs_exits exits = { .rows = rows, .n_rows = 2, .from_ns = 10, .to_ns = 20 };
	struct rs_exits_show show = { .form = RS_TABLE_CSV, .choice = { .scope = RS_EXITS_ALL } };
	struct kit k;

	check_print(&show, &exits,
		    "from_ns,to_ns,vm,pid,tid,vcpu,isa,code,nested,reason,count\n"
		    "10,20,\"a,\"\"b\"\"\nc\",7,8,1,svm,4294967295,1,ERR,2\n"
		    "10,20,,,9,,vmx,12,0,HLT,5\n");
	example(&k);
	show.latency = true;
	show.choice = (struct rs_exits_choice){ .scope = RS_EXITS_TID, .tid = 102 };
	check_print(&show, &k.exits,
		    "from_ns,to_ns,vm,pid,tid,vcpu,isa,code,nested,reason,count,entered,total_ns,"
		    "min_ns,mean_ns,p50_ns,p95_ns,p99_ns,max_ns,kernel_ns,user_ns,poll_ns,off_ns\n"
		    "0,2000000,web,100,102,1,vmx,30,0,IO_INSTRUCTION,1,1,3000,3000,3000,3000,3000,"
		    "3000,3000,1000,2000,0,0\n"
		    "0,2000000,web,100,102,1,vmx,48,0,EPT_VIOLATION,1,0,,,,,,,,,,,\n");
	kit_free(&k);
}

TEST(long_exits)
{
	const struct rs_exits_long exit = { .ts_ns = 1500000000,
					    .vm = "web",
					    .pid = 100,
					    .tid = 101,
					    .vcpu = 1,
					    .isa = RS_ISA_VMX,
					    .code = 30,
					    .cost = { 2500000, 500000, 1000000, 0, 1000000 },
					    .rip = 0xffffffff81000000,
					    .kind = RS_CAUSE_PIO_WRITE,
					    .key = 0x3f8 };
	struct rs_exits_show show = { .form = RS_TABLE_TEXT };
	char text[1024] = { 0 };
	json_t *json;

	show.fd = memfd_create("long", MFD_CLOEXEC);
	CHECK_OK(rs_exits_print_long(&show, &exit));
	CHECK(pread(show.fd, text, sizeof(text) - 1, 0) > 0);
	CHECK_STR(text, "1.500000000 web/v1 tid 101 IO_INSTRUCTION total=2.50ms kernel=500us "
			"user=1.00ms poll=0 off=1.00ms rip=0xffffffff81000000 pio write 0x3f8 "
			"(com1)\n");
	close(show.fd);
	show.form = RS_TABLE_JSON;
	show.fd = memfd_create("long", MFD_CLOEXEC);
	CHECK_OK(rs_exits_print_long(&show, &exit));
	memset(text, 0, sizeof(text));
	CHECK(pread(show.fd, text, sizeof(text) - 1, 0) > 0);
	json = json_loads(text, 0, NULL);
	REQUIRE(json != NULL);
	CHECK_STR(json_string_value(json_object_get(json, "report")), "long-exit");
	CHECK_STR(json_string_value(json_object_get(json, "rip")), "0xffffffff81000000");
	CHECK_STR(json_string_value(json_object_get(json, "what")), "0x3f8 (com1)");
	json_decref(json);
	close(show.fd);
}

/* ---- times ----------------------------------------------------------------------------------- */

TEST(an_impossible_wall_clock_is_unknown)
{
	static const struct rs_clock clock = { .wall_ns = 1700000000123456789 };
	const struct rs_view_options options = { .clock = &clock, .time = RS_TIME_WALL };
	struct rs_out out;

	CHECK_OK(rs_out_init(&out, -1));
	rs_words_time(&out, &options, 1, 0);
	rs_out_char(&out, '\0');
	CHECK_STR(out.buffer, "2023-11-14T22:13:20.123456790Z");
	out.used = 0;
	rs_words_time(&out, &options, INT64_MAX, 0);
	rs_out_char(&out, '\0');
	CHECK_STR(out.buffer, "-");
	out.used = 0;
	rs_out_deinit(&out);
}
