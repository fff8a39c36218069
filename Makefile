# SPDX-License-Identifier: BSD-2-Clause
# The main targets, which run Meson; see meson.build. `make help` lists the targets.
#
#	BUILD=dir	where to build (build)
#	PREFIX=dir	where to install (/usr/local)
#	DESTDIR=dir	a root prepended to that, for packages
#	JOBS=n		number of parallel compiler processes
#	RUN='option...'	options of tests/run: --repeat N, --load M, --junit FILE, --jobs N

BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

NINJA = ninja $(QUIET) -C $(BUILD) -j $(JOBS)
# Configures again if the setup has installed a compiler for guests that the build lacks.
NEW_TOOLS = test ! -f $(BUILD)/build.ninja -o -e $(BUILD)/examples/guests/memory_rust || \
	! command -v rustc >/dev/null || meson setup --reconfigure $(BUILD) >/dev/null

all: $(BUILD)/build.ninja ## build everything (the default)
	@$(NINJA)

$(BUILD)/build.ninja:
	@meson setup --prefix '$(PREFIX)' $(BUILD) >/dev/null || \
		{ cat $(BUILD)/meson-logs/meson-log.txt; rm -rf $(BUILD); exit 1; }

demo: ## set up, build, trace the hello guest, print its span tree
	@scripts/setup build
	@$(MAKE) --no-print-directory all QUIET=--quiet
	@BUILD='$(BUILD)' scripts/demo

check: ## set up, then the tests that prove each promise once; ends in `N passed, N failed, N skipped`
	@scripts/setup build check
	@$(NEW_TOOLS)
	@$(MAKE) --no-print-directory all QUIET=--quiet
	@BUILD='$(BUILD)' tests/run check $(RUN)

check-quick: all ## the tests that boot no machine, in under a minute
	@BUILD='$(BUILD)' tests/run quick $(RUN)

check-all: ## set up, then what check leaves out: sanitizers, clang, damage at every byte, fuzz seeds
	@scripts/setup build check
	@$(NEW_TOOLS)
	@$(MAKE) --no-print-directory all QUIET=--quiet
	@BUILD='$(BUILD)' tests/run all $(RUN)

check-fresh: ## README's two commands, in a clone of HEAD on a minimal Debian of their own (needs root)
	@scripts/fresh "make demo" "make check"

check-vm: ## set up, then the tests that boot machines: guests, real KVM exits on AMD, Intel, arm64
	@scripts/setup build check
	@$(NEW_TOOLS)
	@$(MAKE) --no-print-directory all QUIET=--quiet
	@BUILD='$(BUILD)' tests/run check $(RUN) kvm/ vm/

check-replay: ## set up, then the tests that record guests in QEMU and replay them
	@scripts/setup build check
	@$(NEW_TOOLS)
	@$(MAKE) --no-print-directory all QUIET=--quiet
	@BUILD='$(BUILD)' tests/run check $(RUN) replay/

check-xen: ## set up, then the tests of Xen's trace, with a real Xen that is booted under QEMU
	@scripts/setup build check
	@$(NEW_TOOLS)
	@$(MAKE) --no-print-directory all QUIET=--quiet
	@BUILD='$(BUILD)' tests/run check $(RUN) xen/

bench: ## set up, then the benchmarks: ratios against rivals and limits
	@scripts/setup build bench
	@test ! -f $(BUILD)/build.ninja -o -e $(BUILD)/bench/bench_emit || \
		meson setup --reconfigure $(BUILD) >/dev/null # the rivals may be installed only now
	@$(MAKE) --no-print-directory all QUIET=--quiet
	@BUILD='$(BUILD)' bench/run

fuzz: ## set up, then each fuzz target for FUZZ_SECONDS (60)
	@scripts/setup build check
	@BUILD='$(BUILD)' fuzz/run

fuzz-lang: ## a million made programs of D, or PROGRAMS, compiled and run under ASan and UBSan
	@scripts/setup build
	@BUILD='$(BUILD)' fuzz/million

accept: all ## accept the golden tests' present output; read the diff
	@BUILD='$(BUILD)' tests/golden/run --accept

accept-abi: all ## accept libringside.so's present symbols, functions and types; read the diff
	@BUILD='$(BUILD)' tests/house/abi.full --accept

ship-trace: all ## after a change of the format: record examples/traces/hello anew, and accept
	@rm -rf $(BUILD)/ship && $(BUILD)/ringside run --quiet --record $(BUILD)/ship \
		$(BUILD)/examples/guests/hello
	@rm -rf examples/traces/hello && mv $(BUILD)/ship examples/traces/hello
	@BUILD='$(BUILD)' tests/golden/run --accept

install: all ## install to PREFIX, under DESTDIR
	@meson configure --prefix '$(abspath $(PREFIX))' $(BUILD)
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --quiet

clean: ## remove every build directory
	rm -rf $(BUILD) $(BUILD)-*

help: ## this text
	@echo 'Ringside: tracing of virtual machines, hypervisor, host and guest on one clock.'
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22
	@echo
	@echo "BUILD=dir PREFIX=dir DESTDIR=dir JOBS=n RUN='OPTION...' (of tests/run); see README.md."

.PHONY: all demo check check-quick check-all check-fresh check-vm check-replay check-xen bench fuzz fuzz-lang accept accept-abi ship-trace install clean help
