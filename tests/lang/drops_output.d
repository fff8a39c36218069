// args: --json -q -s {} --on examples/traces/hello
/* A clause that prints too much is no line of JSON, and what follows it is complete. */
BEGIN { walk (60000, it - 1, 60000) printf("%d, and more and more\n", it); trace("small"); }
BEGIN { trace("after"); }
