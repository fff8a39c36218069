// args: --json -q -s {} --on examples/traces/hello
#pragma D option specsize=150
BEGIN { s = speculation(); }
BEGIN { speculate(s); trace("01234567890123456789"); }
BEGIN { speculate(s); trace("01234567890123456789"); }
BEGIN { commit(s); }
