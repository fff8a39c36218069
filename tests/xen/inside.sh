# The script of live.test for dom0; /init runs it, and no error stops it. Results are in /tmp/out,
# one file each.
cd /tmp/out
mkdir -p /sys/kernel/tracing
mount -t tracefs tracefs /sys/kernel/tracing

# wait_for COMMAND...: until it succeeds, for at most ten minutes
wait_for() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 3000 ] || { echo "waited in vain: $*" >>waits; return 1; }
		sleep 0.2
	done
}
traces() { [ "$(peek mask)" != "$quiet" ]; }
is_down() { xl list "$1" 2>/dev/null | awk 'NR > 1 && $5 ~ /s/ { found = 1 } END { exit !found }'; }

# begin NAME OPTION...: records until stop
begin() {
	quiet=$(peek mask)
	name=$1
	shift
	ringside record --xen --json -o $name "$@" >$name.json 2>$name.err &
	recorder=$!
	wait_for traces
}
stop() {
	kill -INT $recorder
	wait $recorder
	echo $? >$name.status
}
