// args: -q -n ':::{ @num[probename] = count(); }' --on examples/traces/hello
/* DTrace one-liners (Brendan Gregg's list): count by probe name, -n '...{ @num[probefunc] = count(); }' */
