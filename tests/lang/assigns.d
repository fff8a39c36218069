// args: -s {} --on examples/traces/hello
/* A clause that only assigns or aggregates prints nothing. */
vmm:vm::destroy { x = 1; @ = count(); }
guest:greeting::greeted { trace(args.times); }
