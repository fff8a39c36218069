# SPDX-License-Identifier: BSD-2-Clause
# Runs as /init in the testbeds: sets up, then runs the cases, which call the functions below. Each
# case has a folder of results. Every wait has a limit, and reports in `hung` when it is reached.

/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp; mount -t tracefs tracing /sys/kernel/tracing
mount -t debugfs debug /sys/kernel/debug
mkdir /tmp/out; cd /tmp/out
for module in $MODULES; do insmod /modules/$module.ko; done

KVM_EXIT=/sys/kernel/tracing/events/kvm/kvm_exit
HIST=hist:keys=common_pid,vcpu_id,exit_reason
grep -q esr_ec $KVM_EXIT/format && HIST=hist:keys=common_pid,ret,esr_ec # arm64
# A wait ends after so many pauses of so many microseconds, and prints what it waits for after some.
WAITS=6000 WAITS_PRINTED=1200
WAIT_US=50000

until_true() { # until_true WORD...: waits until a command succeeds
	waits=0
	until "$@"; do
		waits=$((waits + 1))
		[ $waits -lt $WAITS ] || { echo "$*" >>hung; return 1; }
		[ $((waits % WAITS_PRINTED)) -gt 0 ] || echo "testbed: still waits: $*"
		usleep $WAIT_US
	done
}

begin() { # begin NAME: begins a case; starts the kernel's own count of exits
	mkdir -p /tmp/out/$1; cd /tmp/out/$1
	echo "testbed: $1, $(cut -d " " -f 1 /proc/uptime)"
	echo "$HIST:size=4096" >$KVM_EXIT/trigger
}

end() { # Ends the case: saves the kernel's count, and lets the VMs end.
	cat $KVM_EXIT/hist >hist
	echo "!$HIST" >$KVM_EXIT/trigger
	for each in */workload.json; do
		[ -e $each ] && quit ${each%/*}
	done
}

prepare() { # prepare NAME OPTION...: creates VMs, which wait
	name=$1; shift
	mkdir $name
	/bin/workload "$@" $name 2>$name/err &
	echo $! >$name/pid
	until_true [ -e $name/workload.json ]
}

go() { # go NAME...: runs their guests to the end
	for each; do touch $each/go; done
	for each; do until_true [ -e $each/done ]; done
}

ended() { # ended PID
	! [ -d /proc/$1 ] || grep -q '^State:	Z' /proc/$1/status
}

reap() { # reap PID: prints its exit status when it ends; its stack if it does not
	if ! until_true ended $1; then
		for task in /proc/$1/task/*; do
			cat $task/comm $task/wchan; echo; cat $task/stack
		done >>hung 2>&1
		kill -KILL $1
	fi
	wait $1
}

quit() { # quit NAME: ends the VMs of one go
	[ -e $1/quit ] && return
	touch $1/quit
	reap $(cat $1/pid)
}

attached() { # attached PID: succeeds if it has probes and sleeps, several times in a row
	asleep=0
	while [ $asleep -lt 6 ]; do
		[ -d /proc/$1 ] || return 0
		ls -l /proc/$1/fd 2>/dev/null | grep -q -e bpf -e perf_event || return 1
		grep -q '^State:	S' /proc/$1/status || return 1
		asleep=$((asleep + 1))
		usleep 50000
	done
}

start() { # start NAME COMMAND...: starts a tool, which has attached when this returns
	name=$1; shift
	echo "$*" >$name.command
	"$@" >$name.out 2>$name.err </dev/null &
	echo $! >$name.pid
	until_true attached $!
}

finish() { # finish NAME: waits for its end
	reap $(cat $1.pid)
	echo $? >$1.status
}

stop() { # stop NAME...: stops tools as Ctrl-C does
	for each; do kill -INT $(cat $each.pid); done
	for each; do finish $each; done
}

run() { # run NAME COMMAND...: runs a command that ends without a signal
	name=$1; shift
	echo "$*" >$name.command
	"$@" >$name.out 2>$name.err </dev/null
	echo $? >$name.status
}
